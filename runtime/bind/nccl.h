/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_BIND_NCCL_H
#define AICR_BIND_NCCL_H

#include <lua.h>

#include "nccl/evidence.h"
#include "nccl/result.h"

/* Tables of aicr.native.nccl, as lua/aicr/meta/nccl.lua has them. */

/* Pushes a result.                                              [-0, +1, m] */
void aicr_push_nccl_result(lua_State *L, const struct nccl_result *r);

/* Pushes what NCCL said.                                        [-0, +1, m] */
void aicr_push_nccl_evidence(lua_State *L, const struct nccl_evidence *e);

#endif
