/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_HOST_EMBED_H
#define AICR_HOST_EMBED_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/buffer.h"

/* The Lua sources inside the binary and the data that they read, or the same
 * tree on disk (--source). */

struct aicr_embedded {
  const char *name; /* path in the source tree, "lua/aicr/gke.lua" */
  const char *data; /* its text */
  size_t size;
  const char *code; /* its bytecode, which the build made; data has none */
  size_t code_size;
};
extern const struct aicr_embedded aicr_embedded[]; /* sorted, null at the end */

/* Reads the tree below dir from now on instead of the binary; NULL: the
 * binary. The string must stay. */
void aicr_embed_source(const char *dir);

/* Appends the text of that name; false when there is none. */
bool aicr_embed_text(const char *name, struct aicr_buf *out);

bool aicr_embed_exists(const char *name);

/* Pushes the compiled chunk of that name (chunk name "@" name), or an error
 * message: LUA_OK or a Lua status.                             [-0, +1, m] */
int aicr_embed_load(lua_State *L, const char *name);

#endif
