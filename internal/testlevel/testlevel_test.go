package testlevel_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/internal/testlevel"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestEveryTestHasALevel reads all modules of this repository.
func TestEveryTestHasALevel(t *testing.T) {
	t.Parallel()
	packages, err := testlevel.Scan(os.DirFS("../.."))
	require.NoError(t, err)
	require.Greater(t, len(packages), 100)
	for _, p := range packages {
		require.NotEmpty(t, p.Module, p.Dir)
	}
}

const main0 = "//leat:level 0\nfunc TestMain(m *testing.M) {}\n"

func tree(files map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{"go.mod": {}}
	for name, text := range files {
		if strings.HasSuffix(name, ".go") {
			text = "package p\n\n" + text
		}
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

func TestScan(t *testing.T) {
	t.Parallel()
	packages, err := testlevel.Scan(tree(map[string]string{
		"a/main_test.go": "// TestMain looks for leaks.\n//\n//leat:level 1\nfunc TestMain(m *testing.M) {}\n",
		"a/a_test.go": "func TestB(t *testing.T) {}\n\n// TestA is slow.\n//\n//leat:level 2\nfunc TestA(t *testing.T) {}\n\n" +
			"func Testimony() {}\n\nfunc ExampleNew() {}\n\nfunc FuzzA(f *testing.F) {}\n\nfunc BenchmarkA(b *testing.B) {}\n",
		"a/testdata/t_test.go": "func TestIgnored(t *testing.T) {}\n",
		"b/go.mod":             "",
		"b/c/c_test.go":        main0 + "func TestC(t *testing.T) {}\n",
		"none/n_test.go":       "func helper() {}\n",
	}))
	require.NoError(t, err)
	require.Equal(t, []*testlevel.Package{
		{Dir: "a", Module: ".", Tests: []testlevel.Test{
			{Name: "ExampleNew", Level: 1}, {Name: "FuzzA", Level: 1}, {Name: "TestA", Level: 2}, {Name: "TestB", Level: 1},
		}},
		{Dir: "b/c", Module: "b", Tests: []testlevel.Test{{Name: "TestC", Level: 0}}},
	}, packages)
	level, ok := packages[0].Level("TestA")
	require.True(t, ok)
	require.Equal(t, testlevel.Configuration, level)
	_, ok = packages[0].Level("TestC")
	require.False(t, ok)
}

// TestScan_Refuses names the place of what cannot be obeyed.
func TestScan_Refuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"package without a level": {"func TestA(t *testing.T) {}\n", "testlevel: a package has no default level: a: write //leat:level 0"},
		"level that is not there": {main0 + "//leat:level 7\nfunc TestA(t *testing.T) {}\n", `a/a_test.go:5:1: //leat:level 7: testlevel: there is no such level: "7"`},
		"level of the detector":   {main0 + "//leat:level 3\nfunc TestA(t *testing.T) {}\n", `"3": use 0, 1, 2 or 4`},
		"two levels":              {main0 + "//leat:level 1\n//leat:level 2\nfunc TestA(t *testing.T) {}\n", "has a level already"},
		"unknown directive":       {main0 + "//leat:lvl 1\nfunc TestA(t *testing.T) {}\n", "//leat:lvl 1"},
		"level above a benchmark": {main0 + "//leat:level 1\nfunc BenchmarkA(b *testing.B) {}\n\nfunc TestA(t *testing.T) {}\n", "stands above TestMain"},
		"level in a body":         {main0 + "func TestA(t *testing.T) {\n\t//leat:level 1\n}\n", "stands above TestMain"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := testlevel.Scan(tree(map[string]string{"a/a_test.go": c.text}))
			require.ErrorContains(t, err, c.want)
		})
	}
}

// TestSelect: a row of commits takes all slices, each test once.
func TestSelect(t *testing.T) {
	t.Parallel()
	p := &testlevel.Package{Dir: "a", Module: "."}
	for name := range strings.FieldsSeq("TestA TestB TestC TestD TestE TestF TestG TestH") {
		p.Tests = append(p.Tests, testlevel.Test{Name: name, Level: testlevel.Configuration})
	}
	p.Tests = append(p.Tests, testlevel.Test{Name: "TestZ", Level: testlevel.Memory})
	all := []*testlevel.Package{p, {Dir: "b", Tests: []testlevel.Test{{Name: "TestM", Level: testlevel.Private}}}}

	taken := 0
	for commit := range 3 {
		choice, err := testlevel.ParseChoice("2/3", commit)
		require.NoError(t, err)
		s := testlevel.Select(all, choice)
		taken += s.Chosen[testlevel.Configuration]
		require.Zero(t, s.Chosen[testlevel.Memory])
		require.Equal(t, 1, s.Left[testlevel.Private])
		require.NotContains(t, s.Packages, "b")
		require.Equal(t, 8, s.Chosen[testlevel.Configuration]+s.Left[testlevel.Configuration])
	}
	require.Equal(t, 8, taken)

	choice, err := testlevel.ParseChoice("0,4", 1)
	require.NoError(t, err)
	s := testlevel.Select(all, choice)
	require.Equal(t, []string{"a", "b"}, s.Packages)
	require.Equal(t, map[string]string{"a": "^(TestA|TestB|TestC|TestD|TestE|TestF|TestG|TestH)$"}, s.Skip)
}

func TestParseChoice_Refuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "7", "0,3", "2/0", "2/x", "one", "0,,1"} {
		_, err := testlevel.ParseChoice(text, 0)
		require.ErrorIs(t, err, testlevel.ErrLevel, text)
	}
	_, err := testlevel.ParseChoice("0,7", 0)
	require.ErrorContains(t, err, `"7": use 0, 1, 2 or 4`)
}
