// Package deploytest_test checks what cmd/leat/deploy ships for Kubernetes with the tools that users have:
// the chart with Helm's engine and linter, the kustomizations with kustomize. It is in this module because
// those dependencies are heavy.
package deploytest_test

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/leat-go/leat/internal/testenv"
)

//leat:level 2
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "write what is made of the alert rules")

const (
	deploy     = "../../../cmd/leat/deploy"
	alertRules = "../../../docs/metrics/alerts.yml"
)

// objects holds the Kubernetes objects that a tool has generated.
type objects struct {
	account    corev1.ServiceAccount
	config     corev1.ConfigMap
	deployment appsv1.Deployment
	job        batchv1.Job
	budget     policyv1.PodDisruptionBudget
	service    corev1.Service
	monitor    monitoringv1.ServiceMonitor
	rule       monitoringv1.PrometheusRule
}

// decoded decodes documents strictly, field by field, as Kubernetes does. Each kind may occur at most
// once.
func decoded(t *testing.T, texts ...string) (o *objects, kinds []string) {
	t.Helper()
	o = &objects{}
	known := map[string]any{
		"ServiceAccount": &o.account, "ConfigMap": &o.config, "Job": &o.job, "Deployment": &o.deployment, "PodDisruptionBudget": &o.budget,
		"Service": &o.service, "ServiceMonitor": &o.monitor, "PrometheusRule": &o.rule,
	}
	for _, text := range texts {
		for document := range strings.SplitSeq(text, "\n---\n") {
			var head struct{ Kind string }
			require.NoError(t, yaml.Unmarshal([]byte(document), &head), document)
			if head.Kind == "" {
				require.Empty(t, strings.TrimSpace(document), "only what is left out has no kind")
				continue
			}
			require.Contains(t, known, head.Kind)
			require.NotContains(t, kinds, head.Kind, "each is there once")
			require.NoError(t, yaml.UnmarshalStrict([]byte(document+"\n"), known[head.Kind]), "%s\n%s", head.Kind, document)
			kinds = append(kinds, head.Kind)
		}
	}
	slices.Sort(kinds)
	return o, kinds
}

// yaml returns the objects that the daemon needs, as text.
func (o *objects) yaml(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	for _, object := range []any{o.account, o.config, o.deployment, o.job, o.budget} {
		raw, err := yaml.Marshal(object)
		require.NoError(t, err)
		text.Write(raw)
	}
	return text.String()
}

func content(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(raw)
}

// rendered returns what Helm installs from the chart with changed values, or the error with which it
// refuses them.
func rendered(t *testing.T, release string, changes map[string]any) ([]string, error) {
	t.Helper()
	c, err := loader.Load(filepath.Join(deploy, "chart"))
	require.NoError(t, err)
	require.NoError(t, c.Validate())
	values, err := chartutil.ToRenderValues(c, changes, chartutil.ReleaseOptions{Name: release, Namespace: "shop", IsInstall: true}, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Engine{Strict: true}.Render(c, values)
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, text := range files {
		texts = append(texts, text)
	}
	return texts, nil
}

func installed(t *testing.T, release string, changes map[string]any) (*objects, []string) {
	t.Helper()
	texts, err := rendered(t, release, changes)
	require.NoError(t, err)
	return decoded(t, texts...)
}

// The chart generates the manifests of kubernetes.yaml, except for what Helm needs, so it keeps their
// promises.
func TestChart(t *testing.T) {
	t.Parallel()
	plain, _ := decoded(t, content(t, deploy+"/kubernetes.yaml"))
	o, kinds := installed(t, "leat", nil)
	require.Equal(t, []string{"ConfigMap", "Deployment", "Job", "PodDisruptionBudget", "ServiceAccount"}, kinds)
	require.Contains(t, o.job.Annotations["helm.sh/hook"], "pre-upgrade")
	o.job.Annotations = nil
	plain.job.Spec.Template.Spec.ServiceAccountName = "" // it runs before the account is there
	require.Len(t, o.deployment.Spec.Template.Annotations["leat/config"], 64)
	delete(o.deployment.Spec.Template.Annotations, "leat/config")
	require.Equal(t, plain.yaml(t), o.yaml(t))
}

// A changed value appears where it belongs, and a feature that is turned off is left out.
func TestChart_Values(t *testing.T) {
	t.Parallel()
	o, kinds := installed(t, "shop", map[string]any{
		"replicas": 3, "secret": "own", "variables": []any{"LEAT_DATABASE_URL", "REDIS_PASSWORD"}, "image": "leat:1",
		"migrate": map[string]any{"secret": ""}, "monitoring": map[string]any{"enabled": true, "labels": map[string]any{"release": "prometheus"}},
		"config": "database: \"x\"\n# 'y' {{ z }}\n",
	})
	require.Equal(t, []string{"ConfigMap", "Deployment", "PodDisruptionBudget", "PrometheusRule", "Service", "ServiceAccount", "ServiceMonitor"}, kinds)
	require.EqualValues(t, 3, *o.deployment.Spec.Replicas)
	require.Equal(t, "database: \"x\"\n# 'y' {{ z }}\n", o.config.Data["leat.yaml"])
	c := o.deployment.Spec.Template.Spec.Containers[0]
	require.Equal(t, "leat:1", c.Image)
	require.Equal(t, "REDIS_PASSWORD", c.Env[1].Name)
	require.Equal(t, "own", c.Env[1].ValueFrom.SecretKeyRef.Name)
	require.Equal(t, map[string]string{"release": "prometheus"}, o.rule.Labels)
	o.monitored(t)
	both, _ := installed(t, "shop", map[string]any{"migrate": map[string]any{"components": []any{"outbox", "inbox"}}})
	require.Equal(t, []string{"migrate", "up", "--yes", "--component", "outbox", "--component", "inbox"}, both.job.Spec.Template.Spec.Containers[0].Args)
}

// A wrong value is refused with its name and the allowed values, before anything is installed.
func TestChart_WrongValues(t *testing.T) {
	t.Parallel()
	for _, wrong := range []struct {
		values map[string]any
		says   []string
	}{
		{map[string]any{"replica": 3}, []string{"additional properties 'replica' not allowed"}},
		{map[string]any{"replicas": "two"}, []string{"/replicas", "got string, want integer"}},
		{map[string]any{"replicas": 0}, []string{"/replicas", "minimum: got 0, want 1"}},
		{map[string]any{"image": ""}, []string{"/image", "minLength"}},
		{map[string]any{"secret": ""}, []string{"/secret", "minLength"}},
		{map[string]any{"variables": "LEAT_DATABASE_URL"}, []string{"/variables", "want array"}},
		{map[string]any{"variables": []any{"A B"}}, []string{"/variables/0", "does not match pattern"}},
		{map[string]any{"migrate": map[string]any{"components": []any{"outboxes"}}}, []string{"/migrate/components/0", "'outbox', 'inbox', 'dedupe'"}},
		{map[string]any{"migrate": map[string]any{"role": "x"}}, []string{"/migrate", "additional properties 'role' not allowed"}},
		{map[string]any{"monitoring": map[string]any{"enabled": "yes"}}, []string{"/monitoring/enabled", "want boolean"}},
		{map[string]any{"monitoring": map[string]any{"labels": map[string]any{"release": 1}}}, []string{"/monitoring/labels/release", "want string"}},
		{map[string]any{"memoryLimit": "much"}, []string{"/memoryLimit", "does not match pattern"}},
		{map[string]any{"config": map[string]any{"database": "x"}}, []string{"/config", "want string"}},
		{map[string]any{"config": nil}, []string{"config"}},
	} {
		_, err := rendered(t, "leat", wrong.values)
		for _, says := range wrong.says {
			require.ErrorContains(t, err, says, "%v", wrong.values)
		}
	}
}

// helm lint reports no warning.
func TestChart_Lint(t *testing.T) {
	t.Parallel()
	for _, values := range []map[string]any{{}, {"monitoring": map[string]any{"enabled": true}}} {
		for _, message := range lint.AllWithKubeVersion(filepath.Join(deploy, "chart"), values, "shop", nil).Messages {
			require.LessOrEqual(t, message.Severity, support.InfoSev, message)
		}
	}
	found := lint.AllWithKubeVersion(filepath.Join(deploy, "chart"), map[string]any{"replicas": "two"}, "shop", nil)
	require.Equal(t, support.ErrorSev, found.HighestSeverity, "what is wrong is found")
}

// monitored checks that the metrics will be found, and that the rules are those of docs/metrics and that
// promtool accepts them.
func (o *objects) monitored(t *testing.T) {
	t.Helper()
	require.Equal(t, o.deployment.Spec.Template.Labels, o.service.Spec.Selector)
	require.Equal(t, o.service.Labels, o.monitor.Spec.Selector.MatchLabels)
	require.Equal(t, o.service.Spec.Ports[0].Name, o.monitor.Spec.Endpoints[0].Port)
	require.Equal(t, "metrics", o.service.Spec.Ports[0].TargetPort.StrVal)
	var want monitoringv1.PrometheusRuleSpec
	require.NoError(t, yaml.UnmarshalStrict([]byte(content(t, alertRules)), &want))
	require.NotEmpty(t, want.Groups)
	require.Equal(t, want, o.rule.Spec)
	rules, err := yaml.Marshal(o.rule.Spec)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "alerts.yml")
	require.NoError(t, os.WriteFile(path, rules, 0o600))
	out, err := exec.CommandContext(t.Context(), testenv.Promtool(t), "check", "rules", path).CombinedOutput()
	require.NoError(t, err, string(out))
}

// The rules are maintained only in docs/metrics; the generated copies are compared with them.
func TestRules(t *testing.T) {
	t.Parallel()
	rules := content(t, alertRules)
	var made bytes.Buffer
	made.WriteString("# Made of docs/metrics/alerts.yml: go test -C internal/proof ./deploytest -update\napiVersion: monitoring.coreos.com/v1\n" +
		"kind: PrometheusRule\nmetadata: {name: leat, labels: {}}\nspec:\n")
	for line := range strings.Lines(rules) {
		if line != "\n" {
			made.WriteString("  ")
		}
		made.WriteString(line)
	}
	for path, text := range map[string]string{"chart/files/alerts.yml": rules, "monitoring/rules.yaml": made.String()} {
		path = filepath.Join(deploy, path)
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		}
		require.Equal(t, text, content(t, path), "go test -C internal/proof ./deploytest -update")
	}
}

// built returns what kustomize generates from a folder of fs.
func built(t *testing.T, fs filesys.FileSystem, folder string) string {
	t.Helper()
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(fs, folder)
	require.NoError(t, err)
	text, err := made.AsYaml()
	require.NoError(t, err)
	return string(text)
}

// The output of kustomize for the folders is what they contain. A user's own kustomization can change
// image and configuration.
func TestKustomize(t *testing.T) {
	t.Parallel()
	plain, _ := decoded(t, content(t, deploy+"/kubernetes.yaml"))
	disk := filesys.MakeFsOnDisk()
	o, kinds := decoded(t, built(t, disk, deploy), built(t, disk, deploy+"/monitoring"))
	require.Len(t, kinds, 8)
	o.monitored(t)
	require.Equal(t, plain.yaml(t), o.yaml(t))

	fs := filesys.MakeFsInMemory()
	for _, name := range []string{"kustomization.yaml", "kubernetes.yaml", "monitoring/kustomization.yaml", "monitoring/monitor.yaml", "monitoring/rules.yaml"} {
		require.NoError(t, fs.WriteFile("/leat/"+name, []byte(content(t, filepath.Join(deploy, name)))))
	}
	require.NoError(t, fs.WriteFile("/mine/kustomization.yaml", []byte(`
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: shop
resources: [../leat, ../leat/monitoring]
images: [{name: registry.example/leat, newName: ghcr.io/shop/leat, newTag: v1}]
patches: [{path: leat.yaml}]
`)))
	require.NoError(t, fs.WriteFile("/mine/leat.yaml", []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: leat}\ndata: {leat.yaml: 'database: x'}\n")))
	o, kinds = decoded(t, built(t, fs, "/mine"))
	require.Len(t, kinds, 8)
	o.monitored(t)
	for _, image := range []string{o.deployment.Spec.Template.Spec.Containers[0].Image, o.job.Spec.Template.Spec.Containers[0].Image} {
		require.Equal(t, "ghcr.io/shop/leat:v1", image)
	}
	require.Equal(t, "database: x", o.config.Data["leat.yaml"])
	require.Equal(t, "shop", o.deployment.Namespace)
}
