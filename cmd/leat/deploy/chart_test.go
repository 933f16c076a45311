package deploy_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kube "sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write what is made of the alert rules")

const alertRules = "../../../docs/metrics/alerts.yml"

// serviceMonitor and prometheusRule have the fields of the Prometheus operator's kinds that ours use, as its
// API has them.
type serviceMonitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Selector  metav1.LabelSelector `json:"selector"`
		Endpoints []struct {
			Port     string `json:"port"`
			Interval string `json:"interval"`
		} `json:"endpoints"`
	} `json:"spec"`
}

type prometheusRule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Groups []struct {
			Name     string `json:"name"`
			Interval string `json:"interval"`
			Rules    []struct {
				Alert       string            `json:"alert"`
				Record      string            `json:"record"`
				Expr        string            `json:"expr"`
				For         string            `json:"for"`
				Labels      map[string]string `json:"labels"`
				Annotations map[string]string `json:"annotations"`
			} `json:"rules"`
		} `json:"groups"`
	} `json:"spec"`
}

// chartFile is what a template may ask of the chart's files.
type chartFile struct{ t *testing.T }

// Get is Helm's.
func (c chartFile) Get(name string) string { return content(c.t, filepath.Join("chart", name)) }

// rendered is what the chart makes of its values with changes, by the templates of Go and by those functions of
// Helm that they use, each of which does what Helm's does.
func rendered(t *testing.T, release string, changes map[string]any) (texts []string) {
	t.Helper()
	var values map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(content(t, "chart/values.yaml")), &values))
	for name := range changes {
		require.Contains(t, values, name)
	}
	maps.Copy(values, changes)
	helm := template.FuncMap{
		"quote":     func(text string) string { return fmt.Sprintf("%q", text) },
		"sha256sum": func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) },
		"indent":    indented,
		"toJson": func(value any) (string, error) {
			raw, err := json.Marshal(value)
			return string(raw), err
		},
	}
	files, err := filepath.Glob("chart/templates/*")
	require.NoError(t, err)
	for _, file := range files {
		parsed, err := template.New(file).Option("missingkey=error").Funcs(helm).Parse(content(t, file))
		require.NoError(t, err)
		var out bytes.Buffer
		require.NoError(t, parsed.Execute(&out, map[string]any{"Values": values, "Release": map[string]string{"Name": release}, "Files": chartFile{t}}))
		texts = append(texts, out.String())
	}
	return texts
}

func indented(n int, text string) string {
	pad := strings.Repeat(" ", n)
	return pad + strings.ReplaceAll(text, "\n", "\n"+pad)
}

// The chart makes the manifests of kubernetes.yaml, apart from what Helm needs, and keeps their promises.
func TestDeploy_Chart(t *testing.T) {
	t.Parallel()
	var about struct{ APIVersion, Name, Description, Type, Version, Home string }
	require.NoError(t, kube.UnmarshalStrict([]byte(content(t, "chart/Chart.yaml")), &about))
	require.Equal(t, "v2 leat application", about.APIVersion+" "+about.Name+" "+about.Type)
	plain, _ := decoded(t, content(t, "kubernetes.yaml"))
	m, kinds := decoded(t, rendered(t, "leat", nil)...)
	require.Equal(t, []string{"ConfigMap", "Deployment", "Job", "PodDisruptionBudget", "ServiceAccount"}, kinds)
	m.promise(t)

	require.Contains(t, m.job.Annotations["helm.sh/hook"], "pre-upgrade")
	m.job.Annotations = nil
	plain.job.Spec.Template.Spec.ServiceAccountName = "" // it runs before the account is there
	require.Len(t, m.deployment.Spec.Template.Annotations["leat/config"], 64)
	delete(m.deployment.Spec.Template.Annotations, "leat/config")
	require.Equal(t, plain.yaml(t), m.yaml(t))
}

// What a value changes is where it belongs, and what it turns off is left out.
func TestDeploy_ChartValues(t *testing.T) {
	t.Parallel()
	m, kinds := decoded(t, rendered(t, "shop", map[string]any{
		"replicas": 3, "secret": "own", "variables": []string{"LEAT_DATABASE_URL", "REDIS_PASSWORD"}, "image": "leat:1",
		"migrate": map[string]any{"secret": ""}, "monitoring": map[string]any{"enabled": true, "labels": map[string]string{"release": "prometheus"}},
		"config": "database: \"x\"\n# 'y' {{ z }}\n",
	})...)
	require.Equal(t, []string{"ConfigMap", "Deployment", "PodDisruptionBudget", "PrometheusRule", "Service", "ServiceAccount", "ServiceMonitor"}, kinds)
	require.EqualValues(t, 3, *m.deployment.Spec.Replicas)
	require.Equal(t, "database: \"x\"\n# 'y' {{ z }}\n", m.config.Data["leat.yaml"])
	c := m.deployment.Spec.Template.Spec.Containers[0]
	require.Equal(t, "leat:1", c.Image)
	require.Equal(t, "own", secretOf(t, c, "REDIS_PASSWORD"))
	require.Equal(t, map[string]string{"release": "prometheus"}, m.rule.Labels)
	m.monitored(t)
}

// monitored wants metrics that are found, and the rules that promtool has checked.
func (m *manifests) monitored(t *testing.T) {
	t.Helper()
	require.Equal(t, m.deployment.Spec.Template.Labels, m.service.Spec.Selector)
	require.Equal(t, m.service.Labels, m.monitor.Spec.Selector.MatchLabels)
	require.Equal(t, m.service.Spec.Ports[0].Name, m.monitor.Spec.Endpoints[0].Port)
	require.Equal(t, "metrics", m.service.Spec.Ports[0].TargetPort.StrVal)
	var want prometheusRule
	require.NoError(t, kube.UnmarshalStrict([]byte(content(t, alertRules)), &want.Spec))
	require.NotEmpty(t, want.Spec.Groups)
	require.Equal(t, want.Spec, m.rule.Spec)
}

// The kustomizations name files that there are, whose kinds go together. The rules are those of docs/metrics, which
// are there once: what is made of them is compared.
func TestDeploy_Kustomize(t *testing.T) {
	t.Parallel()
	rules := content(t, alertRules)
	made := "# Made of docs/metrics/alerts.yml: go test -C cmd/leat ./deploy -update\napiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\n" +
		"metadata: {name: leat, labels: {}}\nspec:\n" + strings.ReplaceAll(indented(2, strings.TrimSuffix(rules, "\n")), "  \n", "\n") + "\n"
	for path, text := range map[string]string{"chart/files/alerts.yml": rules, "monitoring/rules.yaml": made} {
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		}
		require.Equal(t, text, content(t, path), "go test -C cmd/leat ./deploy -update")
	}
	var texts []string
	for _, dir := range []string{".", "monitoring"} {
		var k struct {
			APIVersion, Kind string
			Resources        []string
		}
		require.NoError(t, kube.UnmarshalStrict([]byte(content(t, filepath.Join(dir, "kustomization.yaml"))), &k))
		require.Equal(t, "kustomize.config.k8s.io/v1beta1 Kustomization", k.APIVersion+" "+k.Kind)
		for _, resource := range k.Resources {
			texts = append(texts, content(t, filepath.Join(dir, resource)))
		}
	}
	m, kinds := decoded(t, texts...)
	require.Len(t, kinds, 8)
	m.monitored(t)
}
