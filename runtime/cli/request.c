/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/request.h"

#include <stdint.h>
#include <string.h>

#include "core/json_writer.h"
#include "core/number.h"

/* Members are written with a comma after each; the end takes the last one
 * away. */
static void close_container(struct aicr_buf *out, char end)
{
  if (out->len > 0 && out->data[out->len - 1] == ',')
    out->len--;
  aicr_buf_addc(out, end);
}

static void write_text(struct aicr_buf *out, const char *text)
{
  aicr_json_write_string(out, text, strlen(text));
}

static void write_key(struct aicr_buf *out, const char *name)
{
  write_text(out, name);
  aicr_buf_addc(out, ':');
}

static void write_texts(struct aicr_buf *out, const char *const *texts,
                        size_t count)
{
  aicr_buf_addc(out, '[');
  for (size_t i = 0; i < count; i++) {
    write_text(out, texts[i]);
    aicr_buf_addc(out, ',');
  }
  close_container(out, ']');
}

static void write_folders(struct aicr_buf *out, const char *path)
{
  aicr_buf_addc(out, '[');
  while (path && *path) {
    size_t len = strcspn(path, ":");

    if (len > 0) {
      aicr_json_write_string(out, path, len);
      aicr_buf_addc(out, ',');
    }
    path += len + (path[len] == ':');
  }
  close_container(out, ']');
}

/* "fail-fast" is the member fail_fast. */
static void write_option_key(struct aicr_buf *out,
                             const struct aicr_option *option)
{
  size_t start = out->len;

  write_key(out, option->name);
  for (size_t i = start; i < out->len; i++)
    if (out->data[i] == '-')
      out->data[i] = '_';
}

static void write_value(struct aicr_buf *out,
                        const struct aicr_setting *setting)
{
  int64_t number = 0;

  if (!setting->value)
    aicr_buf_adds(out, "true");
  else if (setting->option->kind == AICR_OPTION_INTEGER &&
           aicr_parse_int64(setting->value, strlen(setting->value), &number))
    aicr_json_write_integer(out, number);
  else
    write_text(out, setting->value);
}

/* A layered option stands in "options" as the command line gives it; its
 * environment form stands in "environment". */
static bool is_of(const struct aicr_setting *setting,
                  const struct aicr_option *option)
{
  return setting->option == option &&
         (!option->layered || setting->origin == AICR_FROM_COMMAND_LINE);
}

static const struct aicr_setting *last_of(const struct aicr_command_line *line,
                                          const struct aicr_option *option,
                                          size_t *count)
{
  const struct aicr_setting *last = NULL;

  *count = 0;
  for (size_t i = 0; i < line->setting_count; i++) {
    if (is_of(&line->settings[i], option)) {
      last = &line->settings[i];
      (*count)++;
    }
  }
  if (last && last->value && *last->value == '\0')
    return NULL;
  return last;
}

static void write_option(struct aicr_buf *out,
                         const struct aicr_command_line *line,
                         const struct aicr_option *option)
{
  size_t count = 0;
  const struct aicr_setting *last = last_of(line, option, &count);

  if (!last)
    return;
  write_option_key(out, option);
  if (option->kind == AICR_OPTION_COUNT) {
    aicr_json_write_integer(out, (int64_t)count);
  } else if (option->repeatable) {
    aicr_buf_addc(out, '[');
    for (size_t i = 0; i < line->setting_count; i++) {
      if (is_of(&line->settings[i], option)) {
        write_value(out, &line->settings[i]);
        aicr_buf_addc(out, ',');
      }
    }
    close_container(out, ']');
  } else {
    write_value(out, last);
  }
  aicr_buf_addc(out, ',');
}

/* A layered option of the environment. */
static void write_layer(struct aicr_buf *out,
                        const struct aicr_command_line *line,
                        const struct aicr_option *option)
{
  bool open = false;

  for (size_t i = 0; i < line->setting_count; i++) {
    const struct aicr_setting *setting = &line->settings[i];

    if (setting->option != option || is_of(setting, option))
      continue;
    if (!open) {
      write_option_key(out, option);
      aicr_buf_addc(out, '[');
    }
    open = true;
    write_value(out, setting);
    aicr_buf_addc(out, ',');
  }
  if (!open)
    return;
  close_container(out, ']');
  aicr_buf_addc(out, ',');
}

static void write_origins(struct aicr_buf *out,
                          const struct aicr_command_line *line)
{
  static const char *const origins[] = {"command line", "environment"};
  size_t count = 0;

  write_key(out, "origins");
  aicr_buf_addc(out, '{');
  for (size_t i = 0; i < aicr_option_count; i++) {
    const struct aicr_setting *last = last_of(line, &aicr_options[i], &count);

    if (last) {
      write_option_key(out, last->option);
      write_text(out, origins[last->origin]);
      aicr_buf_addc(out, ',');
    }
  }
  close_container(out, '}');
  aicr_buf_addc(out, ',');
}

static void write_options(struct aicr_buf *out,
                          const struct aicr_command_line *line)
{
  write_key(out, "options");
  aicr_buf_addc(out, '{');
  for (size_t i = 0; i < aicr_option_count; i++)
    write_option(out, line, &aicr_options[i]);
  close_container(out, '}');
  aicr_buf_addc(out, ',');

  write_origins(out, line);

  write_key(out, "environment");
  aicr_buf_addc(out, '{');
  for (size_t i = 0; i < aicr_option_count; i++)
    write_layer(out, line, &aicr_options[i]);
  close_container(out, '}');
  aicr_buf_addc(out, ',');
}

static void write_flag(struct aicr_buf *out, const char *name, bool value)
{
  write_key(out, name);
  aicr_buf_adds(out, value ? "true," : "false,");
}

static void write_columns(struct aicr_buf *out, const char *name, int columns)
{
  if (columns <= 0)
    return;
  write_key(out, name);
  aicr_json_write_integer(out, columns);
  aicr_buf_addc(out, ',');
}

static void write_terminal(struct aicr_buf *out,
                           const struct aicr_terminal *terminal)
{
  write_key(out, "terminal");
  aicr_buf_addc(out, '{');
  write_flag(out, "stdout_tty", terminal->stdout_tty);
  write_flag(out, "color", terminal->color);
  write_flag(out, "utf8", terminal->utf8);
  write_columns(out, "width", terminal->width);
  write_columns(out, "live", terminal->live);
  close_container(out, '}');
  aicr_buf_addc(out, ',');
}

bool aicr_request_write(struct aicr_buf *out,
                        const struct aicr_command_line *line,
                        const struct aicr_terminal *terminal, const char *path)
{
  aicr_buf_addc(out, '{');
  write_key(out, "command");
  write_text(out, line->command ? line->command : "run");
  aicr_buf_addc(out, ',');
  write_key(out, "version");
  write_text(out, AICR_VERSION);
  aicr_buf_addc(out, ',');
  write_key(out, "operands");
  write_texts(out, line->operands, line->operand_count);
  aicr_buf_addc(out, ',');
  write_key(out, "args");
  write_texts(out, (const char *const *)line->args, line->arg_count);
  aicr_buf_addc(out, ',');
  write_options(out, line);
  write_terminal(out, terminal);
  write_key(out, "path");
  write_folders(out, path);
  aicr_buf_addc(out, '}');
  return !out->failed;
}
