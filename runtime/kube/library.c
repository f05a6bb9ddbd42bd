/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/library.h"

#include <curl/curl.h>

void kube_library_facts(struct kube_library *out)
{
  const curl_version_info_data *info = curl_version_info(CURLVERSION_NOW);
  bool tls = (info->features & CURL_VERSION_SSL) != 0;

  out->curl = info->version;
  out->tls = tls && info->ssl_version != NULL ? info->ssl_version : "";
  out->http2 = (info->features & CURL_VERSION_HTTP2) != 0;
  out->gzip = (info->features & CURL_VERSION_LIBZ) != 0;
}
