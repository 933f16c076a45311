package testenv

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// program returns what a program on the tests' broker gets from Start.
func program(t *testing.T) *Env {
	t.Helper()
	service := use(t, KindKafka)
	service.stop = nil // the broker is the tests'
	env := newEnv()
	env.adopt(service)
	env.publish()

	return env
}

func TestEnv_CloseDeletesItsOwnTopicsAndNoOthers(t *testing.T) {
	t.Parallel()

	first, second := program(t), program(t)
	gone, err := first.CreateTopic(t.Context(), "orders", 3)
	require.NoError(t, err)
	stays, err := second.CreateTopic(t.Context(), "orders", 1)
	require.NoError(t, err)
	require.NotEqual(t, gone, stays, "two programs that start at the same time share no name")
	require.Equal(t, gone, first.KafkaName("orders"))
	require.NoError(t, first.Close())

	admin, err := connectAdmin(second.KafkaBrokers)
	require.NoError(t, err)
	defer admin.Close()
	// The broker answers a deletion before it stops telling of the topic.
	require.Eventually(t, func() bool {
		listed, err := admin.ListTopics(t.Context())
		return err == nil && !listed.Has(gone) && listed.Has(stays)
	}, time.Minute, 20*time.Millisecond)
	require.NoError(t, second.Close())
}

// TestKafkaArchive_IsTakenByJava: Java says where it has each class from.
//
//leat:level 4
func TestKafkaArchive_IsTakenByJava(t *testing.T) {
	t.Parallel()
	Long(t, "starts Java, and a broker if there is no archive yet")

	b, err := findKafka(t.Context())
	if errors.Is(err, ErrUnavailable) && !inCI() {
		t.Skipf("needs Kafka: %v", err)
	}
	require.NoError(t, err)
	path := kafkaArchive(t.Context(), b)
	require.NotEmpty(t, path)
	require.NoError(t, checkArchive(t.Context(), b, path))
	// Without arguments the tool says how to use it, and fails.
	output, _ := exec.CommandContext(t.Context(), b.java, "-cp", filepath.Join(b.libs, "*"), "-Xlog:class+load",
		"-XX:SharedArchiveFile="+path, "kafka.tools.StorageTool").CombinedOutput()
	require.Greater(t, strings.Count(string(output), "shared objects file (top)"), 100, "classes come from the archive")

	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	torn := filepath.Join(t.TempDir(), archiveName)
	require.NoError(t, os.WriteFile(torn, whole[:len(whole)/2], 0o600))
	require.Error(t, checkArchive(t.Context(), b, torn), "a torn archive would end each broker with SIGBUS")
}

//leat:level 0
func TestNewDatabaseName_IsOursAndFits(t *testing.T) {
	t.Parallel()

	name := newDatabaseName("TestA/" + strings.Repeat("long Ünicode ", 20))
	require.LessOrEqual(t, len(name), 63, "PostgreSQL cuts longer names")
	require.True(t, strings.HasPrefix(name, databasePrefix), name)
	require.NotEqual(t, name, newDatabaseName("TestA/"+strings.Repeat("long Ünicode ", 20)))
	age, ok := nameAge(strings.TrimPrefix(name, databasePrefix))
	require.True(t, ok)
	require.Less(t, age, time.Minute)
}

//leat:level 0
func TestTemplateName_DependsOnNamesAndVersions(t *testing.T) {
	t.Parallel()

	names := map[string]bool{}
	for _, templates := range [][]Template{
		{{Name: "a", Version: "1"}},
		{{Name: "a", Version: "2"}},
		{{Name: "a"}, {Name: "1"}},
		{{Name: "1"}, {Name: "a"}},
		{{Name: "a1"}},
		{{Name: strings.Repeat("very long ", 10), Version: "1"}},
	} {
		name := templateName(templates)
		require.LessOrEqual(t, len(name), 63)
		require.True(t, strings.HasPrefix(name, templatePrefix), name)
		names[name] = true
	}
	require.Len(t, names, 6)
}

//leat:level 0
func TestLeftover_OnlyOldOnesOfOursAreStale(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		leftover leftover
		want     bool
	}{
		"in use today":        {leftover{Name: newDatabaseName("x")}, false},
		"of a killed run":     {leftover{Name: databasePrefix + "0_0_x"}, true},
		"named by hand":       {leftover{Name: databasePrefix + "mine"}, false},
		"old template":        {leftover{Name: templatePrefix + "x", Template: true, Comment: "1"}, true},
		"unmarked template":   {leftover{Name: templatePrefix + "x", Template: true}, false},
		"template being made": {leftover{Name: templatePrefix + "x"}, false},
	} {
		require.Equal(t, c.want, c.leftover.stale(), name)
	}
}

//leat:level 0
func TestRedact_HidesThePassword(t *testing.T) {
	t.Parallel()

	require.NotContains(t, redact("postgres://u:secret@h/d"), "secret")
	require.Equal(t, "127.0.0.1:9092", redact("127.0.0.1:9092"))
}
