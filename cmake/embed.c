/* SPDX-License-Identifier: Apache-2.0 */
#include <lauxlib.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* embed OUT ROOT NAME…
 *
 * Writes the C file OUT with the files ROOT/NAME, sorted by name, each as
 * text; Lua sources also as the bytecode of the Lua that this program is linked
 * with: the same that the result is linked with. */

static void die(const char *what, const char *name)
{
  fprintf(stderr, "embed: %s: %s\n", name, what);
  exit(1);
}

static int write_bytes(lua_State *L, const void *data, size_t size, void *ud)
{
  const unsigned char *p = data;

  (void)L;
  for (size_t i = 0; i < size; i++)
    fprintf(ud, "%u,%s", p[i], i % 32 == 31 ? "\n" : "");
  return 0;
}

static char *read_file(const char *root, const char *name, size_t *size)
{
  char path[4096];
  FILE *f;
  long n;
  char *text;

  snprintf(path, sizeof(path), "%s/%s", root, name);
  f = fopen(path, "rb");
  if (!f || fseek(f, 0, SEEK_END) != 0)
    die("cannot be read", name);
  n = ftell(f);
  rewind(f);
  text = malloc((size_t)n + 1);
  if (!text || fread(text, 1, (size_t)n, f) != (size_t)n)
    die("cannot be read", name);
  fclose(f);
  *size = (size_t)n;
  return text;
}

static int is_lua(const char *name)
{
  const char *dot = strrchr(name, '.');

  return dot && strcmp(dot, ".lua") == 0;
}

static void write_text(lua_State *L, FILE *out, const char *root,
                       const char *name, int number)
{
  size_t size;
  char *text = read_file(root, name, &size);

  fprintf(out, "static const unsigned char text%d[] = {", number);
  write_bytes(L, text, size, out);
  fprintf(out, "0};\n");
  free(text);
}

static void write_code(lua_State *L, FILE *out, const char *root,
                       const char *name, int number)
{
  size_t size;
  char *text = read_file(root, name, &size);

  fprintf(out, "static const unsigned char code%d[] = {", number);
  if (is_lua(name)) {
    lua_pushfstring(L, "@%s", name);
    if (luaL_loadbufferx(L, text, size, lua_tostring(L, -1), "t") != LUA_OK)
      die(lua_tostring(L, -1), name);
    if (lua_dump(L, write_bytes, out, 0) != 0)
      die("cannot be dumped", name);
  }
  fprintf(out, "0};\n");
  lua_settop(L, 0);
  free(text);
}

static int compare(const void *a, const void *b)
{
  return strcmp(*(char *const *)a, *(char *const *)b);
}

int main(int argc, char **argv)
{
  lua_State *L = luaL_newstate();
  FILE *out = argc > 3 ? fopen(argv[1], "wb") : NULL;

  if (!L || !out)
    die("cannot be written", argc > 1 ? argv[1] : "usage: embed OUT ROOT NAME");
  qsort(argv + 3, (size_t)argc - 3, sizeof(*argv), compare);
  fputs("/* Made by cmake/embed.c. */\n#include \"host/embed.h\"\n\n", out);
  /* Texts are seldom read: apart, they take no memory. */
  for (int i = 3; i < argc; i++)
    write_text(L, out, argv[2], argv[i], i);
  for (int i = 3; i < argc; i++)
    write_code(L, out, argv[2], argv[i], i);
  fputs("const struct aicr_embedded aicr_embedded[] = {\n", out);
  for (int i = 3; i < argc; i++)
    fprintf(out,
            "  {\"%s\", (const char *)text%d, sizeof(text%d) - 1,\n"
            "   (const char *)code%d, sizeof(code%d) - 1},\n",
            argv[i], i, i, i, i);
  fputs("  {0, 0, 0, 0, 0}};\n", out);
  lua_close(L);
  if (fclose(out) != 0)
    die("cannot be written", argv[1]);
  return 0;
}
