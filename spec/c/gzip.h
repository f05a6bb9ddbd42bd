/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPEC_C_GZIP_H
#define SPEC_C_GZIP_H

#include <zlib.h>

#include "core/buffer.h"

/* A gzip text of its own, as a server makes it. */
static inline void pack(struct aicr_buf *out, const char *text, size_t len)
{
  z_stream z;
  char part[1024];
  memset(&z, 0, sizeof z);
  assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, 0), Z_OK);
  z.next_in = (z_const Bytef *)text;
  z.avail_in = (uInt)len;
  aicr_buf_init(out, SIZE_MAX);
  for (int more = Z_OK; more == Z_OK;) {
    z.next_out = (Bytef *)part;
    z.avail_out = sizeof part;
    more = deflate(&z, Z_FINISH);
    assert_true(aicr_buf_add(out, part, sizeof part - z.avail_out));
  }
  deflateEnd(&z);
}

#endif
