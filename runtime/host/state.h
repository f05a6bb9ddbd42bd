/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_HOST_STATE_H
#define AICR_HOST_STATE_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Lua states: their memory, what they may see, where `require` looks. */

struct aicr_memory {
  size_t used;
  size_t limit; /* bytes, for the whole state */
  struct {
    uintptr_t block;
    size_t size;  /* 0: there is none */
  } refused;      /* the last request, when it was refused */
  bool exhausted; /* see aicr_memory_ran_out() */
  /* Nothing is given after this monotonic time, 0: any time. So ends a call of
   * a C function that would allocate for ever. Looked at each second. */
  int64_t until_ms;
  unsigned tick;
  bool late; /* it was after it */
};

/* Was memory lacking, so that something raised? Lua asks a second time after
 * it collected its garbage; when it gets it then, nothing was lacking. True
 * for good, also when a script caught the error: what it decides from then on
 * may be wrong. */
bool aicr_memory_ran_out(const struct aicr_memory *m);

#define AICR_STATE_MEMORY (256u << 20)
#define AICR_SCRIPT_MAX   (16u << 20)
#define AICR_ROOTS_MAX    8

/* Where a check's own modules are looked up: folders, first match wins. The
 * strings must live as long as the state. */
struct aicr_roots {
  const char *dirs[AICR_ROOTS_MAX];
  size_t count;
};

/* A new state with the standard libraries that a check may use (no io, os,
 * debug, load), our warning function, and the library environment: embedded
 * sources see the globals and `require` of everything embedded. `memory` and
 * `roots` must outlive the state; `owner` is what aicr_state_owner() gives in
 * all its coroutines. NULL without memory. */
lua_State *aicr_state_new(struct aicr_memory *memory,
                          const struct aicr_roots *roots, void *owner);
void *aicr_state_owner(lua_State *L);

/* Loads user text (never bytecode) as a chunk whose environment has copies of
 * the allowed globals: writing or reading an unknown one raises, `require`
 * finds the public aicr.* modules and files below the roots. A "#!" first line
 * and a BOM are accepted. Pushes the chunk or a message.
 *                                                              [-0, +1, m] */
int aicr_load_user(lua_State *L, const char *text, size_t len,
                   const char *path);

/* require() of embedded code: pushes the module.               [-0, +1, e] */
void aicr_require(lua_State *L, const char *name);

#endif
