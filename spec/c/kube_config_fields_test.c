/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/config.h"

#include "rows.h"

#include "kube_config.h"

/* What the fields of clusters and users become. */

static const struct loaded clusters[] = {
    {"K13 a relative certificate-authority",
     {{"x/kc",
       CURRENT CLUSTER("k", SERVER ", certificate-authority: ca.pem") U C},
      {"x/ca.pem", CERTIFICATE("CCCC")}},
     {.kubeconfig = "$D/x/kc"},
     "source=$D/x/kc\nca=CCCC\n" TOKEN,
     ""},
    {"relative to the file that defines it",
     {{"x/a", CLUSTER("k", SERVER ", certificate-authority: ../ca.pem")},
      {"b", FULL},
      {"ca.pem", CERTIFICATE("CCCC")}},
     {.env_kubeconfig = "$D/x/a:$D/b"},
     "source=$D/x/a:$D/b\nca=CCCC\n" TOKEN,
     ""},
    {"an absolute certificate-authority",
     {{"kc", CURRENT CLUSTER("k", SERVER
                             ", certificate-authority: \"$D/y/ca.pem\"") U C},
      {"y/ca.pem", "text\n" CERTIFICATE("CCCC") CERTIFICATE("DDDD")}},
     {0},
     "ca=CCCC\n" TOKEN,
     ""},
    {"certificate-authority-data",
     WITH_CLUSTER(SERVER ", certificate-authority-data: " CERTIFICATE_DATA),
     {0},
     "ca=AAAA\n" TOKEN,
     ""},
    {"data with line ends",
     {{"kc", CURRENT "clusters:\n- name: k\n  cluster:\n    " SERVER
                     "\n    certificate-authority-data: |\n"
                     "      LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCkFBQUE\n"
                     "      KLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS0tLQo=\n" U C}},
     {0},
     "ca=AAAA\n" TOKEN,
     ""},
    {"K32 a path prefix",
     WITH_CLUSTER("server: \"https://h/k8s/clusters/c-1/\""),
     {0},
     "server=https://h/k8s/clusters/c-1\n" TOKEN,
     ""},
    {"slashes at the end",
     WITH_CLUSTER("server: \"HTTPS://h:6443//\""),
     {0},
     TOKEN,
     ""},
    {"query and fragment",
     WITH_CLUSTER("server: \"https://h:6443/?token=" SECRET "#x\""),
     {0},
     TOKEN,
     "\"$D/kc\": query and fragment of the server of cluster \"k\" are not "
     "used\n"},
    {"an IPv6 address",
     WITH_CLUSTER("server: \"https://[fd00::1]:6443/a\""),
     {0},
     "server=https://[fd00::1]:6443/a\n" TOKEN,
     ""},
    {"tls-server-name",
     WITH_CLUSTER(SERVER ", tls-server-name: api.example.org"),
     {0},
     "tls=api.example.org\n" TOKEN,
     ""},
    {"an insecure cluster",
     WITH_CLUSTER(SERVER ", insecure-skip-tls-verify: true"),
     {0},
     "insecure=true\n" TOKEN,
     "insecure-skip-tls-verify: the server's certificate is not checked\n"},
    {"proxy-url",
     WITH_CLUSTER(SERVER ", proxy-url: \"socks5://a:b@p:1080\""),
     {0},
     "proxy=socks5://a:b@p:1080\n" TOKEN,
     ""},
    {"proxy-url with an address",
     WITH_CLUSTER(SERVER ", proxy-url: \"http://[::1]:3128/\""),
     {0},
     "proxy=http://[::1]:3128/\n" TOKEN,
     ""},
    {"K36 http and a token",
     WITH_CLUSTER("server: \"http://h:8080\""),
     {0},
     "server=http://h:8080\n",
     "the server is http://, so no token, password or certificate is sent\n"
     "no credentials: requests are anonymous\n"},
};

static const struct loaded users[] = {
    {"a context without a user",
     {{"kc", CURRENT K CONTEXT("c", "cluster: k")}},
     {0},
     "",
     ANONYMOUS},
    {"a user without anything", WITH_USER(""), {0}, "", ANONYMOUS},
    {"empty texts are absent",
     WITH_USER("token: \"\", tokenFile: \"\", username: \"\", password: \"\", "
               "client-key-data: \"\", as: \"\""),
     {0},
     "",
     ANONYMOUS},
    {"a token with white space around it",
     WITH_USER("token: \" " SECRET "\\n\""),
     {0},
     TOKEN,
     ""},
    {"K35 tokenFile with a newline",
     {{"t/token", SECRET "\n"},
      {"kc", CURRENT K USER("u", "tokenFile: t/token") C}},
     {0},
     TOKEN "tokenFile=$D/t/token\n",
     ""},
    {"token for the first request, tokenFile after it",
     {{"kc", CURRENT K USER("u", "token: " SECRET ", tokenFile: later") C}},
     {0},
     TOKEN "tokenFile=$D/later\n",
     ""},
    {"basic",
     WITH_USER("username: a, password: " SECRET),
     {0},
     "username=a\npassword=" SECRET "\n",
     ""},
    {"basic without a password",
     WITH_USER("username: a"),
     {0},
     "username=a\npassword=\n",
     ""},
    {"a certificate of files",
     {{"kc", CURRENT K USER("u", "client-certificate: u.crt, "
                                 "client-key: ./u.key") C},
      {"u.crt", CERTIFICATE("AAAA")},
      {"u.key", PEM("RSA PRIVATE KEY", "BBBB")}},
     {0},
     "certificate=AAAA\nkey=BBBB\n",
     ""},
    {"a certificate and a token",
     WITH_USER("token: " SECRET ", client-certificate-data: " CERTIFICATE_DATA
               ", client-key-data: " KEY_DATA),
     {0},
     "certificate=AAAA\nkey=BBBB\n" TOKEN,
     ""},
    {"a certificate of a file, its key of data",
     {{"kc", CURRENT K USER("u", "client-certificate: u.crt, "
                                 "client-key-data: " KEY_DATA) C},
      {"u.crt", KEY("EEEE") CERTIFICATE("AAAA")}},
     {0},
     "certificate=EEEE\nkey=BBBB\n",
     ""},
    {"impersonation",
     WITH_USER("token: " SECRET ", as: a, as-uid: \"7\", as-groups: [g, h], "
               "as-user-extra: {Scopes: [x, z], b: []}"),
     {0},
     TOKEN "as=a\nas-uid=7\nas-group=g\nas-group=h\nas-extra=Scopes: x\n"
           "as-extra=Scopes: z\n",
     ""},
};

static const struct loaded plugins[] = {
    {"a plug-in of v1beta1", EXEC(""), {0}, "exec=p v1beta1 IfAvailable\n", ""},
    {"a plug-in of v1 with everything",
     {{"x/kc",
       CURRENT "clusters:\n- name: k\n  cluster:\n    " SERVER
               "\n    extensions:\n    - {name: other, extension: 1}\n"
               "    - {name: client.authentication.k8s.io/exec, extension: "
               "{audience: z, m: [1, 2.5, null]}}\n"
               "users:\n- name: u\n  user:\n    exec:\n"
               "      apiVersion: client.authentication.k8s.io/v1\n"
               "      command: bin/plugin\n"
               "      args: [\"a b\", \"$(id)\", \";x\", \"\"]\n"
               "      env: [{name: A, value: b}, {name: E}]\n"
               "      installHint: get it\n      provideClusterInfo: true\n"
               "      interactiveMode: Never\n" C}},
     {.kubeconfig = "$D/x/kc"},
     "source=$D/x/kc\nexec=$D/x/bin/plugin [a b] [$(id)] [;x] [] v1 Never "
     "+cluster\nexec.env=A=b\nexec.env=E=\nexec.hint=get it\n"
     "exec.config={\"audience\":\"z\",\"m\":[1,2.5,null]}\n",
     ""},
    {"nothing about the cluster that was not asked for",
     {{"kc",
       CURRENT CLUSTER("k", SERVER ", extensions: [{name: client."
                                   "authentication.k8s.io/exec, "
                                   "extension: 1}]")
           USER("u", "exec: {apiVersion: client.authentication.k8s.io/"
                     "v1beta1, command: /bin/p, interactiveMode: Always}") C}},
     {0},
     "exec=/bin/p v1beta1 Always\n",
     ""},
    {"null lists of a plug-in",
     EXEC(", args: null, env: null, provideClusterInfo: true"),
     {0},
     "exec=p v1beta1 IfAvailable +cluster\n",
     ""},
    {"a plug-in beside a token",
     WITH_USER("token: " SECRET ", exec: {apiVersion: client.authentication."
               "k8s.io/v1beta1, command: p}"),
     {0},
     TOKEN,
     "\"$D/kc\": exec of user \"u\" is not used: it has other credentials\n"},
};

int main(void)
{
  static const struct {
    const char *name;
    const struct loaded *rows;
    size_t count;
  } tables[] = {{"cluster", clusters, COUNT(clusters)},
                {"user", users, COUNT(users)},
                {"exec", plugins, COUNT(plugins)}};
  struct rows rows = {0};
  for (size_t t = 0; t < COUNT(tables); t++) {
    for (size_t i = 0; i < tables[t].count; i++) {
      add_row(&rows, tables[t].name, tables[t].rows[i].what, test_loaded,
              &tables[t].rows[i]);
    }
  }
  return run_rows(&rows, "kube_config_fields");
}
