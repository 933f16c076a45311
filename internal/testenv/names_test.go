package testenv

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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
