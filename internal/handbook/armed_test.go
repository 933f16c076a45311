package handbook_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/handbook"
)

// TestArmed: nothing can arm a failure point in a program that users build.
func TestArmed(t *testing.T) {
	t.Parallel()
	wrong, err := handbook.Armed(os.DirFS("../.."))
	require.NoError(t, err)
	require.Empty(t, wrong, strings.Join(wrong, "\n"))
}

// TestArmed_ConvictsWhoArms adds one file at a time to a tree in which tests alone arm.
func TestArmed_ConvictsWhoArms(t *testing.T) {
	t.Parallel()
	const (
		points = "github.com/leat-go/leat/internal/failpoint"
		jitter = "github.com/leat-go/leat/internal/jitter"
		suffix = " and only tests and test programs may"
	)
	sound := map[string]string{
		"internal/failpoint/inject.go":                "package failpoint\n\nimport \"context\"\n",
		"internal/failpoint/failpointtest/install.go": "package failpointtest\n\nimport \"" + points + "\"\n\nfunc Install() { failpoint.Install(nil) }\n",
		"internal/proof/sim/jitter.go":                "package sim\n\nimport \"" + jitter + "\"\n\nfunc init() { jitter.SetSource(nil) }\n",
		"box/box.go":                                  "package box\n\nimport \"" + points + "\"\n\nvar _ = failpoint.Inject\n\nfunc Install() {}\n",
		"box/box_test.go":                             "package box\n\nimport _ \"" + points + "/failpointtest\"\n",
	}
	for name, c := range map[string]struct {
		file, text string
		want       []string
	}{
		"nothing":                    {"box/box.go", sound["box/box.go"], nil},
		"a hook":                     {"box/hook.go", "import \"" + points + "\"\n\nvar _ = failpoint.Install\n", []string{"box names failpoint.Install," + suffix}},
		"a hook by another name":     {"box/hook.go", "import f \"" + points + "\"\n\nvar _ = f.Install\n", []string{"box names failpoint.Install," + suffix}},
		"a hook without a name":      {"box/hook.go", "import . \"" + points + "\"\n\nvar _ = Install\n", []string{"box names failpoint.Install," + suffix}},
		"a source of jitter":         {"box/hook.go", "import \"" + jitter + "\"\n\nvar _ = jitter.SetSource\n", []string{"box names jitter.SetSource," + suffix}},
		"a package that arms":        {"box/arm.go", "import _ \"" + points + "/failpointtest\"\n", []string{"box links internal/failpoint/failpointtest," + suffix}},
		"in the command":             {"cmd/leat/arm.go", "import _ \"" + points + "/failpointtest\"\n", []string{"cmd/leat links internal/failpoint/failpointtest," + suffix}},
		"one that links another":     {"cmd/leat/arm.go", "import _ \"github.com/leat-go/leat/internal/proof/sim\"\n", []string{"cmd/leat links internal/proof/sim," + suffix}},
		"the environment":            {"internal/failpoint/env.go", "import \"os\"\n", []string{"internal/failpoint imports os, and must not read what could arm it"}},
		"the environment, for waits": {"internal/jitter/env.go", "import \"os\"\n", []string{"internal/jitter imports os, and must not read what could arm it"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := fstest.MapFS{}
			for file, text := range sound {
				tree[file] = &fstest.MapFile{Data: []byte(text)}
			}
			text := c.text
			if !strings.HasPrefix(text, "package") {
				text = "//go:build some\n\npackage p\n\n" + text
			}
			tree[c.file] = &fstest.MapFile{Data: []byte(text)}
			wrong, err := handbook.Armed(tree)
			require.NoError(t, err)
			require.Equal(t, c.want, wrong)
		})
	}
}
