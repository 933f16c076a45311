package ids_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/ids"
)

// FuzzMap looks for an id whose text is lost: text and stored form must be one
// to one on canonical ids, and any other text keeps apart from its canonical
// spelling.
func FuzzMap(f *testing.F) {
	for _, id := range []string{
		"", "x", "0190163d-8694-739b-aea5-966c26f8ad91", "0190163D-8694-739B-AEA5-966C26F8AD91",
		"01J0B3V1MK1SVBHBJZ4AGXP5ZS", strings.Repeat("-", 36), "\xff\x00",
	} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		u, canonical := ids.Map(id)
		again, same := ids.Map(id)
		if again != u || same != canonical {
			t.Fatalf("Map(%q) is not a function", id)
		}
		text := ids.Text(u)
		if canonical != (text == id) {
			t.Fatalf("Map(%q) = %s, canonical %t", id, text, canonical)
		}
		if back, ok := ids.Map(text); !ok || back != u {
			t.Fatalf("Map(Text(%s)) = %s, canonical %t", text, ids.Text(back), ok)
		}
		if !canonical && uuid.UUID(u).Version() != 5 {
			t.Fatalf("Map(%q) = %s, want version 5", id, text)
		}
	})
}

// FuzzTime: only what RFC 9562 calls version 7 tells a time; the bounds of that time
// are around the id; and any time has a lowest id.
func FuzzTime(f *testing.F) {
	for _, id := range []string{
		"0190163d-8694-739b-aea5-966c26f8ad91", "0190163d-8694-739b-cea5-966c26f8ad91", "0190163d-8694-439b-aea5-966c26f8ad91",
		"ffffffff-ffff-7fff-bfff-ffffffffffff", "00000000-0000-7000-8000-000000000000",
	} {
		u := uuid.MustParse(id)
		f.Add(u[:], int64(0))
		f.Add(u[:], int64(ids.MaxMillis)+1)
	}
	f.Add([]byte{1}, int64(-1))
	f.Fuzz(func(t *testing.T, raw []byte, ms int64) {
		var u ids.UUID
		copy(u[:], raw)
		at, ok := ids.Time(u)
		google := uuid.UUID(u)
		require.Equal(t, google.Version() == 7 && google.Variant() == uuid.RFC4122, ok)
		if ok {
			require.Equal(t, ids.Millis(u), at.UnixMilli())
		}
		require.LessOrEqual(t, ids.Text(ids.FromMillis(ids.Millis(u))), ids.Text(u))
		if next := ids.Millis(u) + 1; next <= ids.MaxMillis {
			require.Negative(t, compare(u, ids.FromMillis(next)))
		}
		require.Equal(t, min(max(ms, 0), ids.MaxMillis), ids.Millis(ids.FromMillis(ms)))
	})
}

// FuzzChild: the id of a child is a function of three texts, and no two triples
// that differ have the same, wherever the texts begin and end.
func FuzzChild(f *testing.F) {
	f.Add("order-1", "billing", "invoice", 3)
	f.Add("a b", `c" "d`, "", 1)
	f.Add("\xff", `\xff`, "\ufffd", 2)
	f.Add("\u0378\U0001fae8", "é", "\x7f", 1)
	f.Fuzz(func(t *testing.T, parent, consumer, name string, cut int) {
		id := ids.Child(parent, consumer, name)
		require.Equal(t, id, ids.Child(parent, consumer, name))
		require.Equal(t, uuid.Version(5), uuid.MustParse(id).Version())
		require.NotEqual(t, id, ids.Text(mapped(parent)))

		all := parent + consumer + name
		cut = min(max(cut, 0), len(all))
		other := [3]string{all[:cut], all[cut:], ""}
		same := other == [3]string{parent, consumer, name}
		require.Equal(t, same, id == ids.Child(other[0], other[1], other[2]))
		require.NotEqual(t, id, ids.Child(parent+" ", consumer, name))
		if valid := strings.ToValidUTF8(name, "\uFFFD"); valid != name {
			require.NotEqual(t, id, ids.Child(parent, consumer, valid))
		}
	})
}

func mapped(id string) ids.UUID {
	u, _ := ids.Map(id)
	return u
}
