// Package deploy_test checks the manifests beside it. It is a package of its own, since the
// types of Kubernetes take long to compile. What Helm and kustomize make of them is checked by
// internal/proof/deploytest.
package deploy_test

import (
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.yaml.in/yaml/v3"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	kube "sigs.k8s.io/yaml"

	"github.com/leat-go/leat/cmd/leat/internal/assemble"
	"github.com/leat-go/leat/cmd/leat/internal/settings"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// lints puts together what a configuration describes, with the variables of a container, and
// returns where the daemon listens.
func lints(t *testing.T, content string, container corev1.Container) settings.Daemon {
	t.Helper()
	set := map[string]string{}
	for _, variable := range container.Env {
		if from := variable.ValueFrom; from != nil {
			require.Equal(t, variable.Name, from.SecretKeyRef.Key)
			variable.Value = map[string]string{"LEAT_DATABASE_URL": "postgres://leat@db/shop", "LEAT_KAFKA_BROKERS": "k1:9092"}[variable.Name]
		}
		set[variable.Name] = variable.Value
	}
	path := filepath.Join(t.TempDir(), "leat.yaml")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	file, err := settings.Read(path)
	require.NoError(t, err)
	secret := func(name string) (string, bool) {
		value, ok := set[name]
		return value, ok
	}
	said, err := file.SettingsOf("", secret)
	require.NoError(t, err)
	d, err := file.DaemonOf("", secret)
	require.NoError(t, err)
	require.NoError(t, assemble.Check(t.Context(), assemble.Input{
		Settings: said.Or(settings.Defaults("")), Daemon: d, Database: said.Database.Value, Logger: slog.New(slog.DiscardHandler),
	}))
	return d
}

// listensAt reports whether the port of a container with this name is that of an address.
func listensAt(t *testing.T, c corev1.Container, name, address string) bool {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool {
		return p.Name == name && port == strconv.Itoa(int(p.ContainerPort))
	})
}

// secretOf is the Secret of a variable.
func secretOf(t *testing.T, c corev1.Container, variable string) string {
	t.Helper()
	for _, v := range c.Env {
		if v.Name == variable {
			return v.ValueFrom.SecretKeyRef.Name
		}
	}
	require.Fail(t, "not set", variable)
	return ""
}

// manifests are what a file or a chart makes.
type manifests struct {
	account    corev1.ServiceAccount
	config     corev1.ConfigMap
	deployment appsv1.Deployment
	job        batchv1.Job
	budget     policyv1.PodDisruptionBudget
}

// decoded decodes documents strictly, field by field, as Kubernetes does. Each kind is there at most once.
func decoded(t *testing.T, texts ...string) (m manifests, kinds []string) {
	t.Helper()
	known := map[string]any{
		"ServiceAccount": &m.account, "ConfigMap": &m.config, "Job": &m.job, "Deployment": &m.deployment, "PodDisruptionBudget": &m.budget,
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
			document += "\n" // which may be that of a text in it
			require.NoError(t, kube.UnmarshalStrict([]byte(document), known[head.Kind]), "%s\n%s", head.Kind, document)
			kinds = append(kinds, head.Kind)
		}
	}
	slices.Sort(kinds)
	return m, kinds
}

func content(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(raw)
}

// The manifests are what Kubernetes takes, field by field, and keep the daemon's promises:
// time to drain, probes that there are, no root, a configuration that is right.
func TestDeploy_Kubernetes(t *testing.T) {
	t.Parallel()
	m, kinds := decoded(t, content(t, "kubernetes.yaml"))
	require.Equal(t, []string{"ConfigMap", "Deployment", "Job", "PodDisruptionBudget", "ServiceAccount"}, kinds)
	require.Error(t, kube.UnmarshalStrict([]byte("spec: {replica: 2}"), &appsv1.Deployment{}), "what does not belong is noticed")
	m.promise(t)
	require.Equal(t, m.account.Name, m.job.Spec.Template.Spec.ServiceAccountName)
}

func (m *manifests) promise(t *testing.T) {
	t.Helper()
	d := lints(t, m.config.Data["leat.yaml"], m.deployment.Spec.Template.Spec.Containers[0])
	deployment, budget := m.deployment.Spec, m.budget.Spec
	require.EqualValues(t, 2, *deployment.Replicas)
	require.Equal(t, 1, deployment.Strategy.RollingUpdate.MaxUnavailable.IntValue())
	require.Equal(t, deployment.Selector.MatchLabels, deployment.Template.Labels)
	require.Equal(t, deployment.Selector.MatchLabels, budget.Selector.MatchLabels)
	require.Equal(t, 1, budget.MaxUnavailable.IntValue())
	pod := deployment.Template.Spec
	require.Equal(t, m.account.Name, pod.ServiceAccountName)
	require.Equal(t, m.config.Name, pod.Volumes[0].ConfigMap.Name)
	require.GreaterOrEqual(t, *pod.TerminationGracePeriodSeconds, int64(15))
	require.NotEmpty(t, pod.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	c := pod.Containers[0]
	require.Equal(t, "leat", secretOf(t, c, "LEAT_DATABASE_URL"))
	require.Equal(t, "leat-migrate", secretOf(t, m.job.Spec.Template.Spec.Containers[0], "LEAT_DATABASE_URL"), "the daemon has no right to the owner's password")
	require.Equal(t, []string{"migrate", "up", "--yes", "--component", "outbox"}, m.job.Spec.Template.Spec.Containers[0].Args)
	require.True(t, listensAt(t, c, "http", d.HTTP.Listen.Value))
	require.True(t, listensAt(t, c, "metrics", d.Metrics.Listen.Value))
	require.True(t, listensAt(t, c, "metrics", ":"+deployment.Template.Annotations["prometheus.io/port"]))
	for path, probe := range map[string]*corev1.HTTPGetAction{"/livez": c.LivenessProbe.HTTPGet, "/readyz": c.ReadinessProbe.HTTPGet} {
		require.Equal(t, path, probe.Path)
		require.Equal(t, "http", probe.Port.StrVal)
		require.Empty(t, probe.Scheme, "the daemon serves no HTTPS")
	}
	require.Equal(t, []string{"run", "--config", c.VolumeMounts[0].MountPath + "/leat.yaml"}, c.Args)
	require.True(t, c.Resources.Limits.Cpu().IsZero(), "throttling looks like a lost lease")
	confined(t, pod, m.job.Spec.Template.Spec)
}

// confined wants pods that can do little.
func confined(t *testing.T, pods ...corev1.PodSpec) {
	t.Helper()
	for _, spec := range pods {
		require.False(t, *spec.AutomountServiceAccountToken)
		require.True(t, *spec.SecurityContext.RunAsNonRoot)
		require.True(t, *spec.Containers[0].SecurityContext.ReadOnlyRootFilesystem)
		require.Equal(t, "256Mi", spec.Containers[0].Resources.Limits.Memory().String())
	}
}
