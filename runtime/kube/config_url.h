/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_CONFIG_URL_H
#define AICR_KUBE_CONFIG_URL_H

#include "core/buffer.h"

/* URLs and names of a kubeconfig. A *problem is fit for a message: it holds
 * nothing of the text. */

/* Appends scheme://authority[/prefix], the scheme in lower case, without '/' at
 * the end. Query and fragment are dropped (*dropped). False with *problem:
 * no or another scheme than http and https, user info, a host that is none, a
 * port that is none, empty or dotted path segments, odd characters; or without
 * one when there was no memory. */
bool kube_config_server_url(const char *text, struct aicr_buf *out,
                            bool *dropped, const char **problem);

/* NULL when the text is a proxy's URL: http, https or socks5, a host. */
const char *kube_config_proxy_problem(const char *text);

/* The same for the environment's, where socks5h is meant by libcurl's users. */
const char *kube_config_env_proxy_problem(const char *text);

/* A host name, or an IP address without brackets. */
bool kube_config_is_host(const char *text);

/* 1 to 63 of a-z, 0-9 and '-', no '-' at either end. */
bool kube_config_is_dns_label(const char *text);

/* Is there nothing in the text that may be secret? */
bool kube_config_url_shows(const char *text);

#endif
