/* SPDX-License-Identifier: Apache-2.0 */
#include <cjson/cJSON.h>
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bind/bind.h"
#include "bind/fields.h"
#include "core/json_list.h"

/* bench-json WAY PAGE ROUNDS
 *
 * Reads a page of a PodList ROUNDS times and prints the median of CPU
 * milliseconds for one reading, the number of pods and the sum of their GPUs.
 * Ways: check (our reader, values discarded), cut (into items), lua (cut, each
 * item pushed as a Lua table, name and GPUs taken there), fields (the same
 * with the two fields only), cjson (the page parsed, name and GPUs of each pod
 * pushed). */

#define ROUNDS_MAX 1000
#define CHUNK      (16u << 10) /* what a transfer hands over at once */

/* Ends with what every way must know. */
static const char TAKE[] =
    "local names, gpus = {}, 0\n"
    "local M = {}\n"
    "function M.values(name, n)\n"
    "  names[#names + 1] = name\n"
    "  gpus = gpus + n\n"
    "end\n"
    "function M.pod(pod)\n"
    "  local n = 0\n"
    "  for _, c in ipairs(pod.spec.containers) do\n"
    "    local limits = c.resources.limits\n"
    "    n = n + (limits and tonumber(limits['nvidia.com/gpu']) or 0)\n"
    "  end\n"
    "  M.values(pod.metadata.name, n)\n"
    "end\n"
    "function M.finish()\n"
    "  local count, sum = #names, gpus\n"
    "  names, gpus = {}, 0\n"
    "  return count, sum\n"
    "end\n"
    "return M\n";

struct page {
  char *text;
  size_t len;
};

static void die(const char *what)
{
  fprintf(stderr, "bench-json: %s\n", what);
  exit(1);
}

static struct page read_page(const char *path)
{
  struct page p = {NULL, 0};
  FILE *f = fopen(path, "rb");
  long size;

  if (!f || fseek(f, 0, SEEK_END) != 0)
    die("the page cannot be read");
  size = ftell(f);
  rewind(f);
  p.text = malloc((size_t)size + 1);
  p.len = (size_t)size;
  if (!p.text || fread(p.text, 1, p.len, f) != p.len)
    die("the page cannot be read");
  p.text[p.len] = '\0';
  fclose(f);
  return p;
}

/* Calls a function of the table at index 1 with the `n` values on the top. */
static void take(lua_State *L, const char *name, int n)
{
  lua_getfield(L, 1, name);
  lua_insert(L, -n - 1);
  lua_call(L, n, 0);
}

static void check_page(lua_State *L, const struct page *p)
{
  struct aicr_error err;

  (void)L;
  if (!aicr_json_check(p->text, p->len, AICR_JSON_STRICT, AICR_JSON_DEPTH,
                       &err))
    die(err.message);
}

static void push_item(lua_State *L, const struct aicr_json_list *list,
                      int fields)
{
  if (fields)
    aicr_push_json_fields(L, fields, list->item, list->item_len);
  else
    aicr_push_json(L, list->item, list->item_len, AICR_JSON_DROP_NULLS);
  take(L, "pod", 1);
}

/* Cuts the page, chunk by chunk; pushes each item where there is an L, with the
 * fields at that index only, unless it is 0. */
static void cut(lua_State *L, const struct page *p, int fields)
{
  struct aicr_json_list list;
  enum aicr_json_list_result result;
  size_t fed = 0;

  aicr_json_list_init(&list);
  for (;;) {
    result = aicr_json_list_next(&list);
    if (result == AICR_LIST_END)
      break;
    if (result == AICR_LIST_ERROR)
      die(list.reader.error.message);
    if (result == AICR_LIST_ITEM && L)
      push_item(L, &list, fields);
    if (result == AICR_LIST_MORE && fed == p->len)
      aicr_json_finish(&list.reader);
    else if (result == AICR_LIST_MORE) {
      size_t n = p->len - fed < CHUNK ? p->len - fed : CHUNK;

      aicr_json_feed(&list.reader, p->text + fed, n);
      fed += n;
    }
  }
  if (!list.has_items)
    die("the page is no list");
  aicr_json_list_free(&list);
}

static void cut_page(lua_State *L, const struct page *p)
{
  (void)L;
  cut(NULL, p, 0);
}

static void lua_page(lua_State *L, const struct page *p)
{
  cut(L, p, 0);
}

static void fields_page(lua_State *L, const struct page *p)
{
  lua_newtable(L);
  lua_pushliteral(L, "metadata.name");
  lua_rawseti(L, -2, 1);
  lua_pushliteral(L, "spec.containers[*].resources.limits['nvidia.com/gpu']");
  lua_rawseti(L, -2, 2);
  aicr_push_fields(L, -1);
  cut(L, p, lua_gettop(L));
  lua_settop(L, 1);
}

static double gpus_of(const cJSON *pod)
{
  const cJSON *c, *spec = cJSON_GetObjectItemCaseSensitive(pod, "spec");
  double n = 0;

  cJSON_ArrayForEach(c, cJSON_GetObjectItemCaseSensitive(spec, "containers"))
  {
    const cJSON *r = cJSON_GetObjectItemCaseSensitive(c, "resources");
    const cJSON *limits = cJSON_GetObjectItemCaseSensitive(r, "limits");
    const cJSON *gpu =
        cJSON_GetObjectItemCaseSensitive(limits, "nvidia.com/gpu");

    if (cJSON_IsString(gpu))
      n += strtod(gpu->valuestring, NULL);
  }
  return n;
}

static void cjson_page(lua_State *L, const struct page *p)
{
  cJSON *tree = cJSON_ParseWithLength(p->text, p->len);
  const cJSON *pod;

  if (!tree)
    die("cJSON refuses the page");
  cJSON_ArrayForEach(pod, cJSON_GetObjectItemCaseSensitive(tree, "items"))
  {
    const cJSON *metadata = cJSON_GetObjectItemCaseSensitive(pod, "metadata");
    const cJSON *name = cJSON_GetObjectItemCaseSensitive(metadata, "name");

    lua_pushstring(L, cJSON_GetStringValue(name));
    lua_pushnumber(L, gpus_of(pod));
    take(L, "values", 2);
  }
  cJSON_Delete(tree);
}

static const struct way {
  const char *name;
  void (*read)(lua_State *L, const struct page *p);
} ways[] = {{"check", check_page},   {"cut", cut_page},     {"lua", lua_page},
            {"fields", fields_page}, {"cjson", cjson_page}, {NULL, NULL}};

static double cpu_ms(void)
{
  struct timespec t;

  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int compare(const void *a, const void *b)
{
  double x, y;

  memcpy(&x, a, sizeof(x));
  memcpy(&y, b, sizeof(y));
  return (x > y) - (x < y);
}

static void run(lua_State *L, const struct way *way, const struct page *p,
                long rounds)
{
  static double ms[ROUNDS_MAX];
  lua_Integer pods = 0, gpus = 0;

  for (long i = 0; i < rounds; i++) {
    double start = cpu_ms();

    way->read(L, p);
    lua_getfield(L, 1, "finish");
    lua_call(L, 0, 2);
    ms[i] = cpu_ms() - start;
    pods = lua_tointeger(L, -2);
    gpus = (lua_Integer)lua_tonumber(L, -1);
    lua_settop(L, 1);
  }
  qsort(ms, (size_t)rounds, sizeof(*ms), compare);
  printf("%.3f %lld %lld\n", ms[rounds / 2], (long long)pods, (long long)gpus);
}

int main(int argc, char **argv)
{
  long rounds = argc == 4 ? strtol(argv[3], NULL, 10) : 0;
  const struct way *way = ways;
  struct page p;
  lua_State *L;

  while (argc == 4 && way->name && strcmp(way->name, argv[1]) != 0)
    way++;
  if (rounds < 1 || rounds > ROUNDS_MAX || !way->name) {
    fputs("usage: bench-json check|cut|lua|fields|cjson PAGE ROUNDS\n", stderr);
    return 2;
  }
  p = read_page(argv[2]);
  L = luaL_newstate();
  if (!L)
    die("no memory");
  luaL_openlibs(L);
  if (luaL_dostring(L, TAKE) != LUA_OK)
    die(lua_tostring(L, -1));
  run(L, way, &p, rounds);
  lua_close(L);
  free(p.text);
  return 0;
}
