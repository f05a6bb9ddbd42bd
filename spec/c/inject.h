/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPEC_C_INJECT_H
#define SPEC_C_INJECT_H

#include <lua.h>
#include <malloc.h>
#include <unistd.h>

#include "core/buffer.h"
#include "host/state.h"
#include "rows.h"

/* Failing allocations of a whole program: those of Lua's states, which come
 * through realloc (wrapped by the linker, spec/CMakeLists.txt), and those of
 * aicr_realloc. A test that includes this is linked with the wraps. */

enum inject_mode {
  INJECT_LUA_ONCE, /* the n-th request, and Lua's second try of it */
  INJECT_LUA_FROM, /* the n-th and all after it */
  INJECT_C_ONCE,
  INJECT_C_FROM,
  INJECT_MODES
};

static struct {
  enum inject_mode mode;
  bool on;
  size_t fail_at; /* 0: none */
  size_t count;   /* of requests of the mode's kind */
  size_t refused; /* in all */
  void *ptr;      /* of the request that is refused twice */
  size_t size;
  size_t live;                /* blocks of aicr_realloc */
  size_t left;                /* bytes of states that were closed */
  void (*made)(lua_State *L); /* told of each userdata, on the top of L */
} inject;

static inline bool inject_refuses(bool lua, void *ptr, size_t size)
{
  bool once = inject.mode == INJECT_LUA_ONCE || inject.mode == INJECT_C_ONCE;
  bool refuse;

  if (!inject.on || lua != (inject.mode <= INJECT_LUA_FROM))
    return false;
  if (lua && once && inject.size == size && inject.ptr == ptr) {
    inject.size = 0;
    return true;
  }
  inject.count++;
  refuse = inject.fail_at && (once ? inject.count == inject.fail_at
                                   : inject.count >= inject.fail_at);
  if (refuse) {
    inject.refused++;
    inject.ptr = ptr;
    inject.size = size;
  }
  return refuse;
}

void *__real_realloc(void *ptr, size_t size);
void *__wrap_realloc(void *ptr, size_t size);
void __real_lua_close(lua_State *L);
void __wrap_lua_close(lua_State *L);
void *__real_lua_newuserdatauv(lua_State *L, size_t size, int values);
void *__wrap_lua_newuserdatauv(lua_State *L, size_t size, int values);

/* Shrinking never fails: Lua relies on it. */
void *__wrap_realloc(void *ptr, size_t size)
{
  bool grows = !ptr || size > malloc_usable_size(ptr);

  if (grows && inject_refuses(true, ptr, size))
    return NULL;
  return __real_realloc(ptr, size);
}

/* All states here are of aicr_state_new(). */
void __wrap_lua_close(lua_State *L)
{
  void *memory;

  lua_getallocf(L, &memory);
  __real_lua_close(L);
  inject.left += ((struct aicr_memory *)memory)->used;
}

void *__wrap_lua_newuserdatauv(lua_State *L, size_t size, int values)
{
  void *p = __real_lua_newuserdatauv(L, size, values);

  if (inject.made)
    inject.made(L);
  return p;
}

static inline void *inject_realloc(void *ptr, size_t size)
{
  void *p;

  if (size == 0) {
    inject.live -= ptr != NULL;
    free(ptr);
    return NULL;
  }
  if (inject_refuses(false, ptr, size))
    return NULL;
  p = __real_realloc(ptr, size);
  inject.live += p && !ptr;
  return p;
}

/* From here on requests are counted, and the n-th is refused (0: none). */
static inline void inject_begin(enum inject_mode mode, size_t fail_at)
{
  inject.mode = mode;
  inject.fail_at = fail_at;
  inject.count = 0;
  inject.size = 0;
  inject.on = true;
}

static inline void inject_end(void)
{
  inject.on = false;
}

/* Was a request refused since inject_begin()? */
static inline bool inject_hit(void)
{
  return inject.fail_at && inject.count >= inject.fail_at;
}

/* A step that grows with n: for what makes too many requests to refuse each. */
#define INJECT_GROWING 0

/* Calls run(arg, mode, n) for each mode and n = 0, 1, 1 + step, … until it
 * makes fewer requests: run calls inject_begin(mode, n) where it begins. After
 * each run nothing may be left: no block, no byte of a state, no descriptor. */
static inline void inject_loop(void (*run)(void *arg, enum inject_mode mode,
                                           size_t n),
                               void *arg, size_t step)
{
  void *(*before)(void *, size_t) = aicr_realloc;
  size_t live = inject.live;
  int fd = dup(0);

  close(fd);
  aicr_realloc = inject_realloc;
  for (int mode = 0; mode < INJECT_MODES; mode++)
    for (size_t n = 0;; n += !n ? 1 : step ? step : n / 30 + 1) {
      int next;

      inject.left = 0;
      run(arg, (enum inject_mode)mode, n);
      inject_end();
      assert_int_equal(inject.live, live);
      assert_int_equal(inject.left, 0);
      next = dup(0);
      close(next);
      assert_int_equal(next, fd);
      if (n && !inject_hit())
        break;
    }
  aicr_realloc = before;
}

#endif
