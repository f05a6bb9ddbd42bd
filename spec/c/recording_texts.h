/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPEC_C_RECORDING_TEXTS_H
#define SPEC_C_RECORDING_TEXTS_H

/* Documents of recordings. */

#define NETWORKS "objects/networking.gke.io/v1/networks/"
#define PODS     "objects/core/v1/pods/"
#define NETWORK_LIST(items)                                                    \
  "{\"items\":[" items "],\"kind\":\"NetworkList\",\"apiVersion\":"            \
  "\"networking.gke.io/v1\",\"metadata\":{\"continue\":\"\"}}"
#define POD_LIST(items)                                                        \
  "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{},\"items\":"     \
  "[" items "]}"
#define KUBECTL(items)                                                         \
  "{\"apiVersion\":\"v1\",\"kind\":\"List\",\"metadata\":{},\"items\":[" items \
  "]}"
#define NAMED(name) "{\"metadata\":{\"name\":\"" name "\"}}"
#define IN(ns, name)                                                           \
  "{\"metadata\":{\"namespace\":\"" ns "\",\"name\":\"" name "\"}}"
#define NETWORK(name)                                                          \
  "{\"apiVersion\":\"networking.gke.io/"                                       \
  "v1\",\"kind\":\"Network\",\"metadata\":"                                    \
  "{\"name\":\"" name "\"}}"
#define POD(ns, name)                                                          \
  "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"" name     \
  "\",\"namespace\":\"" ns "\"}}"
#define FORBIDDEN                                                              \
  "{\"http\":403,\"contentType\":\"application/"                               \
  "json\",\"body\":\"{\\\"kind\\\":"                                           \
  "\\\"Status\\\",\\\"reason\\\":\\\"Forbidden\\\",\\\"message\\\":"           \
  "\\\"no\\\"}"                                                                \
  "\"}"
#define NO_API                                                                 \
  "{\"http\":404,\"contentType\":\"text/plain; "                               \
  "charset=utf-8\",\"body\":\"404 "                                            \
  "page not found\\n\"}"
#define APIS(items)                                                            \
  "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":"                        \
  "\"apidiscovery.k8s.io/v2\",\"metadata\":{},\"items\":[" items "]}"
#define GROUP(name, resources)                                                 \
  "{\"metadata\":{\"name\":\"" name "\"},\"versions\":[{\"version\":\"v1\","   \
  "\"resources\":[" resources "],\"freshness\":\"Current\"}]}"
#define RESOURCE(plural, singular, kind, scope)                                \
  "{\"resource\":\"" plural "\",\"singularResource\":\"" singular              \
  "\",\"scope\":\"" scope                                                      \
  "\",\"responseKind\":{\"group\":\"\",\"version\":\"\","                      \
  "\"kind\":\"" kind "\"},\"shortNames\":[\"" singular "s\"]}"
#define GKE_GROUP                                                              \
  GROUP("networking.gke.io",                                                   \
        RESOURCE("networks", "network", "Network", "Cluster"))
#define DOWN_GROUP                                                             \
  "{\"metadata\":{\"name\":\"metrics.k8s.io\"},\"versions\":[{\"version\":"    \
  "\"v1beta1\",\"freshness\":\"Stale\"}]}"
#define CRD                                                                    \
  "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":"                      \
  "\"CustomResourceDefinition\",\"metadata\":{\"name\":\"gizmos.example."      \
  "org\"},"                                                                    \
  "\"spec\":{\"group\":\"example.org\",\"scope\":\"Namespaced\",\"names\":{"   \
  "\"plural\":\"gizmos\",\"singular\":\"gizmo\",\"kind\":\"Gizmo\","           \
  "\"shortNames\":[\"gz\"]},\"versions\":[{\"name\":\"v1\",\"served\":true},{" \
  "\"name\":\"v0\",\"served\":false}]}}"

#endif
