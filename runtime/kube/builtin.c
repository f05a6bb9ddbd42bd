/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kube/fixed_text.h"
#include "kube/resource.h"

/* Names and scopes as the discovery of a 1.34 server and of the projects'
 * custom resource definitions gives them, core first. `names`: singular, then
 * short names. */
static const struct builtin {
  struct kube_resource r;
  const char *names;
} table[] = {
    {{"", "v1", "configmaps", "ConfigMap", true}, "configmap cm"},
    {{"", "v1", "endpoints", "Endpoints", true}, "endpoints ep"},
    {{"", "v1", "events", "Event", true}, "event ev"},
    {{"", "v1", "limitranges", "LimitRange", true}, "limitrange limits"},
    {{"", "v1", "namespaces", "Namespace", false}, "namespace ns"},
    {{"", "v1", "nodes", "Node", false}, "node no"},
    {{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", true},
     "persistentvolumeclaim pvc"},
    {{"", "v1", "persistentvolumes", "PersistentVolume", false},
     "persistentvolume pv"},
    {{"", "v1", "pods", "Pod", true}, "pod po"},
    {{"", "v1", "podtemplates", "PodTemplate", true}, "podtemplate"},
    {{"", "v1", "replicationcontrollers", "ReplicationController", true},
     "replicationcontroller rc"},
    {{"", "v1", "resourcequotas", "ResourceQuota", true},
     "resourcequota quota"},
    {{"", "v1", "secrets", "Secret", true}, "secret"},
    {{"", "v1", "serviceaccounts", "ServiceAccount", true},
     "serviceaccount sa"},
    {{"", "v1", "services", "Service", true}, "service svc"},
    {{"apiregistration.k8s.io", "v1", "apiservices", "APIService", false},
     "apiservice"},
    {{"apps", "v1", "controllerrevisions", "ControllerRevision", true},
     "controllerrevision"},
    {{"apps", "v1", "daemonsets", "DaemonSet", true}, "daemonset ds"},
    {{"apps", "v1", "deployments", "Deployment", true}, "deployment deploy"},
    {{"apps", "v1", "replicasets", "ReplicaSet", true}, "replicaset rs"},
    {{"apps", "v1", "statefulsets", "StatefulSet", true}, "statefulset sts"},
    {{"events.k8s.io", "v1", "events", "Event", true}, "event ev"},
    {{"autoscaling", "v2", "horizontalpodautoscalers",
      "HorizontalPodAutoscaler", true},
     "horizontalpodautoscaler hpa"},
    {{"batch", "v1", "cronjobs", "CronJob", true}, "cronjob cj"},
    {{"batch", "v1", "jobs", "Job", true}, "job"},
    {{"certificates.k8s.io", "v1", "certificatesigningrequests",
      "CertificateSigningRequest", false},
     "certificatesigningrequest csr"},
    {{"networking.k8s.io", "v1", "ingressclasses", "IngressClass", false},
     "ingressclass"},
    {{"networking.k8s.io", "v1", "ingresses", "Ingress", true}, "ingress ing"},
    {{"networking.k8s.io", "v1", "ipaddresses", "IPAddress", false},
     "ipaddress ip"},
    {{"networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", true},
     "networkpolicy netpol"},
    {{"networking.k8s.io", "v1", "servicecidrs", "ServiceCIDR", false},
     "servicecidr"},
    {{"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", true},
     "poddisruptionbudget pdb"},
    {{"rbac.authorization.k8s.io", "v1", "clusterrolebindings",
      "ClusterRoleBinding", false},
     "clusterrolebinding"},
    {{"rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", false},
     "clusterrole"},
    {{"rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", true},
     "rolebinding"},
    {{"rbac.authorization.k8s.io", "v1", "roles", "Role", true}, "role"},
    {{"storage.k8s.io", "v1", "csidrivers", "CSIDriver", false}, "csidriver"},
    {{"storage.k8s.io", "v1", "csinodes", "CSINode", false}, "csinode"},
    {{"storage.k8s.io", "v1", "csistoragecapacities", "CSIStorageCapacity",
      true},
     "csistoragecapacity"},
    {{"storage.k8s.io", "v1", "storageclasses", "StorageClass", false},
     "storageclass sc"},
    {{"storage.k8s.io", "v1", "volumeattachments", "VolumeAttachment", false},
     "volumeattachment"},
    {{"storage.k8s.io", "v1", "volumeattributesclasses",
      "VolumeAttributesClass", false},
     "volumeattributesclass vac"},
    {{"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations",
      "MutatingWebhookConfiguration", false},
     "mutatingwebhookconfiguration"},
    {{"admissionregistration.k8s.io", "v1", "validatingadmissionpolicies",
      "ValidatingAdmissionPolicy", false},
     "validatingadmissionpolicy"},
    {{"admissionregistration.k8s.io", "v1", "validatingadmissionpolicybindings",
      "ValidatingAdmissionPolicyBinding", false},
     "validatingadmissionpolicybinding"},
    {{"admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations",
      "ValidatingWebhookConfiguration", false},
     "validatingwebhookconfiguration"},
    {{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
      "CustomResourceDefinition", false},
     "customresourcedefinition crd crds"},
    {{"scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", false},
     "priorityclass pc"},
    {{"coordination.k8s.io", "v1", "leases", "Lease", true}, "lease"},
    {{"node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", false},
     "runtimeclass"},
    {{"discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", true},
     "endpointslice"},
    {{"resource.k8s.io", "v1", "deviceclasses", "DeviceClass", false},
     "deviceclass"},
    {{"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim", true},
     "resourceclaim"},
    {{"resource.k8s.io", "v1", "resourceclaimtemplates",
      "ResourceClaimTemplate", true},
     "resourceclaimtemplate"},
    {{"resource.k8s.io", "v1", "resourceslices", "ResourceSlice", false},
     "resourceslice"},
    {{"flowcontrol.apiserver.k8s.io", "v1", "flowschemas", "FlowSchema", false},
     "flowschema"},
    {{"flowcontrol.apiserver.k8s.io", "v1", "prioritylevelconfigurations",
      "PriorityLevelConfiguration", false},
     "prioritylevelconfiguration"},
    {{"jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet", true}, "jobset"},
    {{"networking.gke.io", "v1", "gkenetworkparamsets", "GKENetworkParamSet",
      false},
     "gkenetworkparamset"},
    {{"authorization.k8s.io", "v1", "selfsubjectaccessreviews",
      "SelfSubjectAccessReview", false},
     "selfsubjectaccessreview"},
    {{"authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview",
      false},
     "selfsubjectreview"},
    {{"networking.gke.io", "v1", "networks", "Network", false}, "network"},
    {{"trainer.kubeflow.org", "v1alpha1", "clustertrainingruntimes",
      "ClusterTrainingRuntime", false},
     "clustertrainingruntime"},
    {{"trainer.kubeflow.org", "v1alpha1", "trainingruntimes", "TrainingRuntime",
      true},
     "trainingruntime"},
    {{"trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob", true},
     "trainjob"},
    {{"nvidia.com", "v1", "clusterpolicies", "ClusterPolicy", false},
     "clusterpolicy"},
    {{"nvidia.com", "v1alpha1", "nvidiadrivers", "NVIDIADriver", false},
     "nvidiadriver"},
    {{"resource.nvidia.com", "v1beta1", "computedomains", "ComputeDomain",
      true},
     "computedomain"},
    {{"nfd.k8s-sigs.io", "v1alpha1", "nodefeatures", "NodeFeature", true},
     "nodefeature"},
    {{"nfd.k8s-sigs.io", "v1alpha1", "nodefeaturerules", "NodeFeatureRule",
      false},
     "nodefeaturerule"},
    {{"kubeflow.org", "v2beta1", "mpijobs", "MPIJob", true}, "mpijob"},
    {{"kubeflow.org", "v1", "pytorchjobs", "PyTorchJob", true}, "pytorchjob"},
    {{"kueue.x-k8s.io", "v1beta1", "clusterqueues", "ClusterQueue", false},
     "clusterqueue"},
    {{"kueue.x-k8s.io", "v1beta1", "localqueues", "LocalQueue", true},
     "localqueue"},
    {{"kueue.x-k8s.io", "v1beta1", "workloads", "Workload", true}, "workload"},
    {{"leaderworkerset.x-k8s.io", "v1", "leaderworkersets", "LeaderWorkerSet",
      true},
     "leaderworkerset lws"},
    {{"monitoring.coreos.com", "v1", "servicemonitors", "ServiceMonitor", true},
     "servicemonitor smon"},
    {{"monitoring.coreos.com", "v1", "prometheuses", "Prometheus", true},
     "prometheus prom"},
    {{"gateway.networking.k8s.io", "v1", "gateways", "Gateway", true},
     "gateway gtw"},
    {{"gateway.networking.k8s.io", "v1", "gatewayclasses", "GatewayClass",
      false},
     "gatewayclass gc"},
    {{"metrics.k8s.io", "v1beta1", "nodes", "NodeMetrics", false}, ""},
    {{"metrics.k8s.io", "v1beta1", "pods", "PodMetrics", true}, ""},
};
#define TABLE_LEN (sizeof table / sizeof table[0])

const struct kube_resource *kube_builtin_by_name(const char *group,
                                                 const char *name)
{
  const struct kube_resource *second = NULL;
  for (size_t i = 0; i < TABLE_LEN; i++) {
    const struct builtin *b = &table[i];
    if (group != NULL && strcmp(b->r.group, group) != 0) {
      continue;
    }
    if (strcmp(b->r.plural, name) == 0) {
      return &b->r;
    }
    if (second == NULL && kube_has_word(b->names, name)) {
      second = &b->r;
    }
  }
  return second;
}

const struct kube_resource *
kube_builtin_by_kind(const char *group, const char *version, const char *kind)
{
  const struct kube_resource *other = NULL;
  for (size_t i = 0; i < TABLE_LEN; i++) {
    const struct kube_resource *r = &table[i].r;
    if (strcmp(r->group, group) != 0 || strcmp(r->kind, kind) != 0) {
      continue;
    }
    if (version == NULL || strcmp(r->version, version) == 0) {
      return r;
    }
    other = r;
  }
  return other;
}
