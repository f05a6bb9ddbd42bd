/* SPDX-License-Identifier: Apache-2.0 */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "wire_server.h"

/* Usage: wire_serve FOLDER
 * The server of wire_server.h for tests of the whole program. Answers by
 * FOLDER/rows.json, a list of {match, http, type, body, headers, how: [NAME],
 * cut, times, echo}; says where it is in FOLDER/url; ends with its input and
 * leaves what it was asked in FOLDER/requests.json, a list of [LINE, BODY]. */

#define ROWS 64

static void stop(const char *what, const char *name)
{
  fprintf(stderr, "wire_serve: %s %s\n", what, name);
  exit(EXIT_FAILURE);
}

static char *read_file(const char *path)
{
  FILE *in = fopen(path, "rb");
  size_t len = 0, cap = (size_t)64 << 20;
  char *text = malloc(cap);
  if (in == NULL || text == NULL) {
    stop("cannot read", path);
  }
  len = fread(text, 1, cap - 1, in);
  text[len] = '\0';
  fclose(in);
  return text;
}

/* The name is there only when all of it is. */
static void write_file(const char *path, const char *text)
{
  char half[4096];
  snprintf(half, sizeof half, "%s.half", path);
  FILE *out = fopen(half, "wb");
  if (out == NULL || fputs(text, out) < 0 || fclose(out) != 0 ||
      rename(half, path) != 0) {
    stop("cannot write", path);
  }
}

static const char *text_of(const cJSON *row, const char *name)
{
  return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(row, name));
}

static unsigned number_of(const cJSON *row, const char *name)
{
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(row, name);
  return item == NULL ? 0 : (unsigned)item->valuedouble;
}

static unsigned how_of(const cJSON *row)
{
  static const struct {
    const char *name;
    unsigned how;
  } hows[] = {{"chunked", WIRE_CHUNKED}, {"endless", WIRE_ENDLESS},
              {"gzip", WIRE_GZIP},       {"bomb", WIRE_BOMB},
              {"silent", WIRE_SILENT},   {"stall", WIRE_STALL},
              {"reset", WIRE_RESET},     {"last", WIRE_LAST},
              {"raw", WIRE_RAW},         {"untyped", WIRE_UNTYPED},
              {"nothing", WIRE_NOTHING}};
  unsigned all = 0;
  const cJSON *item = NULL;
  cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(row, "how"))
  {
    size_t i = 0;
    while (i < sizeof hows / sizeof hows[0] &&
           strcmp(hows[i].name, item->valuestring) != 0) {
      i++;
    }
    if (i == sizeof hows / sizeof hows[0]) {
      stop("no such how:", item->valuestring);
    }
    all |= hows[i].how;
  }
  return all;
}

static void read_rows(const cJSON *list, struct wire_answer rows[ROWS + 1])
{
  const cJSON *row = NULL;
  size_t n = 0;
  cJSON_ArrayForEach(row, list)
  {
    if (n == ROWS) {
      stop("too many", "rows");
    }
    rows[n++] = (struct wire_answer){.match = text_of(row, "match"),
                                     .http = (int)number_of(row, "http"),
                                     .type = text_of(row, "type"),
                                     .body = text_of(row, "body"),
                                     .headers = text_of(row, "headers"),
                                     .how = how_of(row),
                                     .cut = number_of(row, "cut"),
                                     .times = number_of(row, "times"),
                                     .echo = text_of(row, "echo")};
  }
}

static void write_requests(struct wire_server *s, const char *path)
{
  char *lines = strdup(wire_requests(s)), *line = lines;
  cJSON *all = cJSON_CreateArray();
  for (unsigned i = 0; line != NULL && *line != '\0'; i++) {
    char *end = strchr(line, '\n');
    cJSON *pair = cJSON_CreateArray();
    *end = '\0';
    cJSON_AddItemToArray(pair, cJSON_CreateString(line));
    cJSON_AddItemToArray(pair, cJSON_CreateString(wire_body(s, i)));
    cJSON_AddItemToArray(all, pair);
    line = end + 1;
  }
  char *text = cJSON_PrintUnformatted(all);
  write_file(path, text);
  free(text);
  free(lines);
  cJSON_Delete(all);
}

int main(int argc, char **argv)
{
  static struct wire_answer rows[ROWS + 1];
  char path[4096], byte = 0;
  if (argc != 2) {
    stop("usage:", "wire_serve FOLDER");
  }
  snprintf(path, sizeof path, "%s/rows.json", argv[1]);
  char *text = read_file(path);
  cJSON *list = cJSON_Parse(text);
  if (!cJSON_IsArray(list)) {
    stop("no list:", path);
  }
  read_rows(list, rows);
  struct wire_server *s = wire_start(rows, NULL);
  snprintf(path, sizeof path, "%s/url", argv[1]);
  write_file(path, wire_url(s));
  while (read(STDIN_FILENO, &byte, 1) > 0) {
  }
  snprintf(path, sizeof path, "%s/requests.json", argv[1]);
  write_requests(s, path);
  wire_stop(s);
  cJSON_Delete(list);
  free(text);
  return EXIT_SUCCESS;
}
