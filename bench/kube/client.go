// SPDX-License-Identifier: Apache-2.0

// What the benchmark of the Kubernetes client is compared with, on client-go:
//
//	client load KUBECONFIG N  pods from standard input, a JSON text a line,
//	                          created 50 at a time until there are N
//	client list KUBECONFIG    the names of all pods: dynamic client, pager
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/pager"
)

var pods = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

const parallel = 50

func die(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

func load(client dynamic.Interface, n int) {
	texts := make(chan []byte, parallel)
	var all sync.WaitGroup
	for range parallel {
		all.Add(1)
		go func() {
			defer all.Done()
			for text := range texts {
				pod := &unstructured.Unstructured{}
				die(json.Unmarshal(text, &pod.Object))
				_, err := client.Resource(pods).Namespace(pod.GetNamespace()).
					Create(context.Background(), pod, metav1.CreateOptions{})
				if !errors.IsAlreadyExists(err) {
					die(err)
				}
			}
		}()
	}
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	for range n {
		line, err := lines.ReadBytes('\n')
		die(err)
		texts <- line
	}
	close(texts)
	all.Wait()
}

func list(client dynamic.Interface) {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	p := pager.New(func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return client.Resource(pods).List(ctx, o)
	})
	die(p.EachListItem(context.Background(), metav1.ListOptions{}, func(o runtime.Object) error {
		fmt.Fprintln(out, o.(*unstructured.Unstructured).GetName())
		return nil
	}))
}

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[2])
	die(err)
	config.QPS, config.Burst = 10000, 10000
	client, err := dynamic.NewForConfig(config)
	die(err)
	if os.Args[1] == "list" {
		list(client)
		return
	}
	n, err := strconv.Atoi(os.Args[3])
	die(err)
	load(client, n)
}
