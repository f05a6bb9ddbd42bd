/* SPDX-License-Identifier: Apache-2.0 */
#include "bind/bind.h"

const struct aicr_module aicr_modules[] = {
    {"aicr.json", luaopen_aicr_json},
    {"aicr.yaml", luaopen_aicr_yaml},
    {"aicr.quantity", luaopen_aicr_quantity},
    {"aicr.version", luaopen_aicr_version},
    {"aicr.constraint", luaopen_aicr_constraint},
    {"aicr.time", luaopen_aicr_time},
    {"aicr.native.error", luaopen_aicr_native_error},
    {"aicr.native.gke", luaopen_aicr_native_gke},
    {"aicr.native.platform", luaopen_aicr_native_platform},
    {"aicr.native.text", luaopen_aicr_native_text},
    {"aicr.native.task", luaopen_aicr_native_task},
    {"aicr.native.k8s", luaopen_aicr_native_k8s},
    {"aicr.native.nccl", luaopen_aicr_native_nccl},
    {NULL, NULL},
};
