package testenv

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

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
