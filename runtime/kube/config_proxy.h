/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_CONFIG_PROXY_H
#define AICR_KUBE_CONFIG_PROXY_H

#include "core/error.h"
#include "kube/config.h"

/* The environment's proxy for c->server into c->env_proxy; NULL: none. As
 * kubectl reads it (golang.org/x/net/http/httpproxy), not as libcurl does:
 * HTTPS_PROXY, or HTTP_PROXY for an http:// server, upper case before lower;
 * never for localhost and loopback addresses; NO_PROXY holds "*", addresses,
 * CIDRs and domains, with or without a port. A value that is no proxy's URL is
 * INVALID_REQUEST "config-invalid", which names the variable and shows nothing
 * of its value, as that may hold a password. */
bool kube_config_take_env_proxy(const struct kube_config_options *o,
                                struct kube_config *c, struct aicr_error *err);

#endif
