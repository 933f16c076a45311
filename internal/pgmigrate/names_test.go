package pgmigrate_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/pgerr"
	"github.com/leat-go/leat/internal/pgmigrate"
)

func TestRenderReplacesTokens(t *testing.T) {
	t.Parallel()
	names := pgmigrate.Names{Schema: `a"b`, Table: "it's"}

	got, err := names.Render(`@{schema} @{primary} @{} @{_positions} @{name:_xid_idx} @{text:_seq} $1 {}`)

	require.NoError(t, err)
	require.Equal(t, `"a""b" `+pgerr.Primary+` "a""b"."it's" "a""b"."it's_positions" "it's_xid_idx" '"a""b"."it''s_seq"' $1 {}`, got)
}

func TestRenderRefusesUnknownTokens(t *testing.T) {
	t.Parallel()
	for _, sql := range []string{"@{table}", "@{nam:_x}", "@{name:x}", "@{_X}", "@{"} {
		t.Run(sql, func(t *testing.T) {
			t.Parallel()
			_, err := pgmigrate.Names{Schema: "s", Table: "t"}.Render(sql)
			require.ErrorContains(t, err, "unknown token")
		})
	}
}

func TestValidateRefusesBadNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 60)
	tests := map[string]struct {
		names pgmigrate.Names
		want  string
	}{
		"empty schema":  {pgmigrate.Names{Table: "t"}, `schema "" is empty`},
		"empty table":   {pgmigrate.Names{Schema: "s"}, `table "" is empty`},
		"long schema":   {pgmigrate.Names{Schema: long + long, Table: "t"}, "longer than 63 bytes"},
		"long derived":  {pgmigrate.Names{Schema: "s", Table: long}, `xxx_positions" is longer than 63 bytes`},
		"NUL":           {pgmigrate.Names{Schema: "s\x00", Table: "t"}, "do not print"},
		"newline":       {pgmigrate.Names{Schema: "s", Table: "t\nt"}, "do not print"},
		"invalid UTF-8": {pgmigrate.Names{Schema: "\xff", Table: "t"}, "not valid UTF-8"},
		"template":      {pgmigrate.Names{Schema: "s", Table: "{{t"}, "contains {{"},
		"end of a body": {pgmigrate.Names{Schema: "s$leat$", Table: "t"}, "contains $leat$"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tt.names.Validate("_positions")
			require.ErrorIs(t, err, pgmigrate.ErrInvalidName)
			require.ErrorContains(t, err, tt.want)
		})
	}
}
