/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier): memmem */
#include "nccl/message.h"

#include <string.h>

#include "core/number.h"
#include "core/text.h"

bool nccl_skip(struct nccl_message *m, const char *begin)
{
  if (!nccl_starts(m->text, (size_t)(m->end - m->text), begin))
    return false;
  m->text += strlen(begin);
  return true;
}

bool nccl_seek(struct nccl_message *m, const char *what)
{
  const char *p = m->text < m->end ? memmem(m->text, (size_t)(m->end - m->text),
                                            what, strlen(what))
                                   : NULL;

  if (!p)
    return false;
  m->text = p + strlen(what);
  return true;
}

struct nccl_word nccl_upto(struct nccl_message *m, const char *stops)
{
  struct nccl_word w = {m->text, 0};

  while (m->text < m->end && !strchr(stops, *m->text))
    m->text++;
  w.len = (size_t)(m->text - w.text);
  return w;
}

bool nccl_number(struct nccl_message *m, int64_t *out)
{
  size_t digits;

  while (m->text < m->end && *m->text == ' ')
    m->text++;
  digits = nccl_digits(m->text, (size_t)(m->end - m->text));
  m->text += digits;
  return aicr_parse_int64(m->text - digits, digits, out);
}

bool nccl_number_behind(struct nccl_message m, const char *what, int64_t *out)
{
  return nccl_seek(&m, what) && nccl_number(&m, out);
}

void nccl_set_text(char *out, size_t size, const char *text, size_t len)
{
  size_t n = 0;

  for (size_t i = 0; i < len;) {
    uint32_t cp;
    size_t step = aicr_utf8_decode(text + i, len - i, &cp);
    bool good = step > 0 && cp != 0;

    if (n + (good ? step : 1) >= size)
      break;
    if (good)
      memcpy(out + n, text + i, step);
    else
      out[n] = '?';
    n += good ? step : 1;
    i += step ? step : 1;
  }
  out[n] = '\0';
}

void nccl_add_name(struct nccl_evidence *e, struct nccl_names *names,
                   struct nccl_word w)
{
  char text[NCCL_TEXT_WORD];

  NCCL_SET(text, w);
  if (!text[0])
    return;
  for (size_t i = 0; i < names->count; i++)
    if (strcmp(names->of[i].text, text) == 0) {
      names->of[i].count++;
      return;
    }
  if (names->count == NCCL_NAMES_MAX) {
    e->over = true;
    return;
  }
  memcpy(names->of[names->count].text, text, sizeof(text));
  names->of[names->count++].count = 1;
}

struct nccl_word nccl_rest(struct nccl_message m)
{
  struct nccl_word w = {m.text, (size_t)(m.end - m.text)};

  return w;
}
