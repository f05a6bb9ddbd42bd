/* SPDX-License-Identifier: Apache-2.0 */
/* Replays a corpus through a fuzz target without libFuzzer: every file of the
 * folder argv[1], whole and, when it is small, cut at each byte. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
  FILE_MAX = 4 << 20,
  CUT_MAX = 2048 /* files up to this size are also replayed cut short */
};

static int is_input(const struct dirent *entry)
{
  return entry->d_name[0] != '.';
}

/* The content of a file in memory of exactly its size, so that a read past
 * the end is seen by a sanitizer. NULL when it cannot be read. */
static uint8_t *read_input(const char *path, size_t *size)
{
  uint8_t *data = NULL;
  uint8_t *room = malloc(FILE_MAX);
  FILE *file = fopen(path, "rb");

  if (!room || !file)
    goto out;
  *size = fread(room, 1, FILE_MAX, file);
  if (ferror(file) || !feof(file))
    goto out;
  data = malloc(*size ? *size : 1);
  if (data && *size)
    memcpy(data, room, *size);

out:
  if (file)
    fclose(file);
  free(room);
  return data;
}

static void replay(const uint8_t *data, size_t size)
{
  LLVMFuzzerTestOneInput(data, size);
  for (size_t cut = 0; size <= CUT_MAX && cut < size; cut++) {
    uint8_t *part = malloc(cut ? cut : 1);

    if (!part)
      abort();
    if (cut)
      memcpy(part, data, cut);
    LLVMFuzzerTestOneInput(part, cut);
    free(part);
  }
}

int main(int argc, char **argv)
{
  struct dirent **names = NULL;
  int count = 0;
  int failed = 0;

  if (argc != 2) {
    fprintf(stderr, "usage: %s CORPUS-FOLDER\n", argv[0]);
    return 2;
  }
  count = scandir(argv[1], &names, is_input, alphasort);
  if (count < 1) {
    printf("1..1\nnot ok 1 - %s holds no input\n", argv[1]);
    return 1;
  }
  printf("1..%d\n", count);
  for (int i = 0; i < count; i++) {
    char path[4096];
    size_t size = 0;
    uint8_t *data = NULL;

    snprintf(path, sizeof(path), "%s/%s", argv[1], names[i]->d_name);
    data = read_input(path, &size);
    if (data)
      replay(data, size);
    else
      failed++;
    printf("%s %d - %s\n", data ? "ok" : "not ok", i + 1, names[i]->d_name);
    fflush(stdout);
    free(data);
    free(names[i]);
  }
  free(names);
  return failed ? 1 : 0;
}
