package testenv

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

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
