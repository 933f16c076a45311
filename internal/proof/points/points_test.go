package points_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/internal/failpoint"
	"github.com/leat-go/leat/internal/proof/points"
	"github.com/leat-go/leat/internal/proof/repo"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func root(t *testing.T) string {
	t.Helper()
	dir, err := repo.Root(".")
	require.NoError(t, err)

	return dir
}

// TestAudit_NothingIsWrong: each point is reached by code and tested with every kind of fault, by tests
// that exist.
func TestAudit_NothingIsWrong(t *testing.T) {
	t.Parallel()

	wrong, err := points.Audit(root(t), points.Checks())
	require.NoError(t, err)
	require.Empty(t, wrong, strings.Join(wrong, "\n"))
}

// TestDeclarations_AreTheNamesOfTheBuild: the names read from the source are the names that tests can arm.
func TestDeclarations_AreTheNamesOfTheBuild(t *testing.T) {
	t.Parallel()

	declared, err := points.Declarations(root(t))
	require.NoError(t, err)
	var names []failpoint.Name
	for _, d := range declared {
		names = append(names, d.Name)
		require.NotEmpty(t, d.Says, d.Const)
	}
	require.ElementsMatch(t, failpoint.Names(), names)
}

func TestPage_IsCurrent(t *testing.T) {
	t.Parallel()

	want, err := points.Page(root(t), points.Checks())
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join(root(t), filepath.FromSlash(points.PageFile)))
	require.NoError(t, err)
	require.Equal(t, want, string(got), "run go generate ./points in internal/proof")
}

// tree writes a repository with two points. The code reaches the first one, and the test arms it with two
// kinds.
func tree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for path, text := range map[string]string{
		"internal/failpoint/names.go": "package failpoint\n\nconst (\n// One is first.\nOne Name = \"a/one\"\n// Two is second.\nTwo Name = \"a/two\"\n)\n",
		"code/code.go":                "package code\n\nfunc f() { _ = failpoint.Inject(nil, failpoint.One) }\n\nvar _ = failpoint.Two\n",
		"code/code_test.go": "package code\n\nfunc TestO1_All(t *testing.T) { arm(failpoint.One) }\n\n" +
			"func arm(p failpoint.Name) { r.Enable(p, failpointtest.Error(nil)); r.Enable(p, failpointtest.Panic()) }\n\n" +
			"func TestNothing(t *testing.T) { _ = failpoint.Inject(nil, failpoint.Two) }\n",
	} {
		path = filepath.Join(dir, filepath.FromSlash(path))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}

	return dir
}

// TestAudit_Convicts are the negative controls: an outdated list, and tables that claim more than the
// tests do.
func TestAudit_Convicts(t *testing.T) {
	t.Parallel()

	one, two, all := []failpoint.Name{"a/one"}, []failpoint.Name{"a/one", "a/two"}, points.Kinds()
	for name, c := range map[string]struct {
		checks []points.Check
		want   []string
	}{
		"nothing is tested": {nil, []string{
			"a/one is never tested with: error, panic, exit, pause, cancel, cut",
			"a/two is reached by no code", "a/two is never tested with: error, panic, exit, pause, cancel, cut",
		}},
		"a kind is missing": {[]points.Check{{Package: "code", Test: "TestO1_All", Points: one, Kinds: all[:2]}}, []string{
			"a/one is never tested with: exit, pause, cancel, cut",
		}},
		"a kind is made up": {[]points.Check{{Package: "code", Test: "TestO1_All", Points: one, Kinds: all}}, []string{
			"TestO1_All has nothing of kind exit", "TestO1_All has nothing of kind pause",
			"TestO1_All has nothing of kind cancel", "TestO1_All has nothing of kind cut",
		}},
		"a point is made up": {[]points.Check{{Package: "code", Test: "TestO1_All", Points: []failpoint.Name{"a/three"}, Kinds: all[:1]}}, []string{
			"a/three is not a point, which TestO1_All is said to arm",
		}},
		"a point is not mentioned": {[]points.Check{{Package: "code", Test: "TestO1_All", Points: two, Kinds: all[:1]}}, []string{
			"TestO1_All does not mention a/two",
		}},
		"a test is gone": {[]points.Check{{Package: "code", Test: "TestO2_Gone", Points: one, Kinds: all}}, []string{
			"code: there is no test TestO2_Gone",
		}},
		"no invariant": {[]points.Check{{Package: "code", Test: "TestNothing", Points: two[1:]}}, []string{
			"TestNothing names no invariant",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wrong, err := points.Audit(tree(t), c.checks)
			require.NoError(t, err)
			require.Subset(t, wrong, c.want)
		})
	}
}
