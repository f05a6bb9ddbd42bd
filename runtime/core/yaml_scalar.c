/* SPDX-License-Identifier: Apache-2.0 */
/* The types of plain scalars. Both schemas read numbers as Go's decoders do
 * (yaml.v3 for recipes, sigs.k8s.io/yaml for Kubernetes): underscores are
 * ignored, a leading 0 means octal unless a digit contradicts, what does not
 * fit 64 bits is a float, and a float out of range is text. They differ in the
 * words that are booleans. */
#include <string.h>

#include "core/number.h"
#include "core/yaml_internal.h"

struct word {
  const char *text;
  enum aicr_resolved is;
};

static const struct word common_words[] = {
    {"", AICR_RESOLVED_NULL},       {"~", AICR_RESOLVED_NULL},
    {"null", AICR_RESOLVED_NULL},   {"Null", AICR_RESOLVED_NULL},
    {"NULL", AICR_RESOLVED_NULL},   {"true", AICR_RESOLVED_TRUE},
    {"True", AICR_RESOLVED_TRUE},   {"TRUE", AICR_RESOLVED_TRUE},
    {"false", AICR_RESOLVED_FALSE}, {"False", AICR_RESOLVED_FALSE},
    {"FALSE", AICR_RESOLVED_FALSE},
};

static const struct word kubernetes_words[] = {
    {"y", AICR_RESOLVED_TRUE},    {"Y", AICR_RESOLVED_TRUE},
    {"yes", AICR_RESOLVED_TRUE},  {"Yes", AICR_RESOLVED_TRUE},
    {"YES", AICR_RESOLVED_TRUE},  {"on", AICR_RESOLVED_TRUE},
    {"On", AICR_RESOLVED_TRUE},   {"ON", AICR_RESOLVED_TRUE},
    {"n", AICR_RESOLVED_FALSE},   {"N", AICR_RESOLVED_FALSE},
    {"no", AICR_RESOLVED_FALSE},  {"No", AICR_RESOLVED_FALSE},
    {"NO", AICR_RESOLVED_FALSE},  {"off", AICR_RESOLVED_FALSE},
    {"Off", AICR_RESOLVED_FALSE}, {"OFF", AICR_RESOLVED_FALSE},
};

static bool find_word(const struct word *words, size_t count, const char *text,
                      size_t len, struct aicr_yaml_value *out)
{
  for (size_t i = 0; i < count; i++) {
    if (strlen(words[i].text) == len && memcmp(words[i].text, text, len) == 0) {
      out->is = words[i].is;
      return true;
    }
  }
  return false;
}

static unsigned digit_value(char c)
{
  if (c >= '0' && c <= '9')
    return (unsigned)(c - '0');
  if (c >= 'a' && c <= 'f')
    return (unsigned)(c - 'a') + 10;
  if (c >= 'A' && c <= 'F')
    return (unsigned)(c - 'A') + 10;
  return 16;
}

/* Skips a prefix such as 0x and returns the base. */
static unsigned take_base(const char **text, size_t *len)
{
  unsigned base = 8;
  size_t skip = 2;

  if (*len < 2 || **text != '0')
    return 10;
  switch ((*text)[1]) {
  case 'x':
  case 'X':
    base = 16;
    break;
  case 'b':
  case 'B':
    base = 2;
    break;
  case 'o':
  case 'O':
    break;
  default:
    skip = 1;
  }
  *text += skip;
  *len -= skip;
  return base;
}

static bool parse_natural(const char *text, size_t len, uint64_t *out)
{
  unsigned base = take_base(&text, &len);
  uint64_t value = 0;

  if (len == 0)
    return false;
  for (size_t i = 0; i < len; i++) {
    unsigned digit = digit_value(text[i]);

    if (digit >= base || value > (UINT64_MAX - digit) / base)
      return false;
    value = value * base + digit;
  }
  *out = value;
  return true;
}

static bool resolve_integer(const char *text, size_t len,
                            struct aicr_yaml_value *out)
{
  bool sign = text[0] == '-' || text[0] == '+';
  bool negative = text[0] == '-';
  uint64_t value;

  if (!parse_natural(text + (sign ? 1 : 0), len - (sign ? 1 : 0), &value))
    return false;
  if (value <= (uint64_t)INT64_MAX) {
    out->is = AICR_RESOLVED_INTEGER;
    out->integer = negative ? -(int64_t)value : (int64_t)value;
  } else if (negative && value == (uint64_t)INT64_MAX + 1) {
    out->is = AICR_RESOLVED_INTEGER;
    out->integer = INT64_MIN;
  } else if (!sign) {
    out->is = AICR_RESOLVED_NATURAL;
    out->natural = value;
  } else {
    return false;
  }
  return true;
}

static bool is_decimal(char c)
{
  return digit_value(c) <= 9;
}

/* Copies a number without its underscores. Go takes any of them, but behind a
 * leading point only those between digits. */
static bool drop_underscores(const char *text, size_t len, char *out,
                             size_t *out_len)
{
  size_t n = 0;

  for (size_t i = 0; i < len; i++) {
    if (text[i] != '_')
      out[n++] = text[i];
    else if (text[0] == '.' && (i + 1 == len || !is_decimal(text[i - 1]) ||
                                !is_decimal(text[i + 1])))
      return false;
  }
  *out_len = n;
  return true;
}

static void resolve_number(const char *text, size_t len,
                           struct aicr_yaml_value *out)
{
  if (text[0] != '.' && resolve_integer(text, len, out))
    return;
  if (aicr_parse_double(text, len, &out->number))
    out->is = AICR_RESOLVED_DOUBLE;
}

static void resolve_with_underscores(const char *text, size_t len,
                                     struct aicr_yaml_value *out)
{
  char plain[512] = "";
  size_t plain_len;

  if (len <= sizeof(plain) && drop_underscores(text, len, plain, &plain_len))
    resolve_number(plain, plain_len, out);
}

void aicr_yaml_resolve(enum aicr_yaml_schema schema, const char *text,
                       size_t len, struct aicr_yaml_value *out)
{
  if (find_word(common_words, sizeof(common_words) / sizeof(common_words[0]),
                text, len, out))
    return;
  if (schema == AICR_YAML_KUBERNETES &&
      find_word(kubernetes_words,
                sizeof(kubernetes_words) / sizeof(kubernetes_words[0]), text,
                len, out))
    return;
  out->is = AICR_RESOLVED_STRING;
  if (!is_decimal(text[0]) && text[0] != '+' && text[0] != '-' &&
      text[0] != '.')
    return;
  if (memchr(text, '_', len))
    resolve_with_underscores(text, len, out);
  else
    resolve_number(text, len, out);
}
