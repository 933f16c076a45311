package ids_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/ids"
)

func TestNew(t *testing.T) {
	t.Parallel()
	last := ""
	for range 1000 {
		id, err := ids.New()
		require.NoError(t, err)
		require.Greater(t, id, last, "ids of one process ascend")
		u, canonical := ids.Map(id)
		require.True(t, canonical)
		require.Equal(t, uuid.Version(7), uuid.UUID(u).Version())
		last = id
	}
}

// TestMap pins the mapping: stored ids, and what every inbox remembers, depend
// on these very values.
func TestMap(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, id, stored string
		canonical        bool
	}{
		{"canonical", "0190163d-8694-739b-aea5-966c26f8ad91", "0190163d-8694-739b-aea5-966c26f8ad91", true},
		{"nil UUID", "00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000000", true},
		{"upper case", "0190163D-8694-739B-AEA5-966C26F8AD91", "9f8e562b-95dd-5e4c-8033-d3ad5f0d85bc", false},
		{"braced", "{0190163d-8694-739b-aea5-966c26f8ad91}", "d03ef7c4-3dd9-5621-bcd2-5881b6027830", false},
		{"compact", "0190163d8694739baea5966c26f8ad91", "93dd3ff2-9833-54d1-941a-c2a0a7595180", false},
		{"urn", "urn:uuid:0190163d-8694-739b-aea5-966c26f8ad91", "56de8a7c-88e3-5e30-8a59-09636b718818", false},
		{"ULID", "01J0B3V1MK1SVBHBJZ4AGXP5ZS", "dae4469c-2133-5444-ae2a-2c30c301aa72", false},
		{"text", "order 17/é", "3da63591-c25f-514a-8e9a-8bfa7d7b9dfc", false},
		{"NUL", "a\x00b", "5b431939-84ac-5d16-bd89-d318c217c5ba", false},
		{"empty", "", "8ea3649a-3251-5643-a810-21dc00e010e3", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			u, canonical := ids.Map(tt.id)
			require.Equal(t, tt.stored, ids.Text(u))
			require.Equal(t, tt.canonical, canonical)
		})
	}
}

func TestMapRefusesOtherSpellings(t *testing.T) {
	t.Parallel()
	for _, id := range []string{
		"0190163d-8694-739b-aea5-966c26f8ad9",   // short
		"0190163d-8694-739b-aea5-966c26f8ad911", // long
		"0190163d-8694-739b-aea5-966c26f8ad9g",
		"0190163d-8694-739b-aea5_966c26f8ad91",
		"0190163d86-94-739b-aea5-966c26f8ad91",
		"0190163d-8694-739b-aea5-966c26f8ad9A",
		"-190163d-8694-739b-aea5-966c26f8ad91",
	} {
		u, canonical := ids.Map(id)
		require.False(t, canonical, id)
		require.Equal(t, uuid.Version(5), uuid.UUID(u).Version(), id)
	}
}
