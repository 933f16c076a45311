package settings

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseSpan reads a duration: Go's, with d for days, such as 90s, 12h or 7d.
func ParseSpan(text string) (time.Duration, error) {
	const day = 24 * time.Hour
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 16); err == nil && n < 100_000 {
			return time.Duration(n) * day, nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q: must be a duration such as 30s, 12h or 7d", text)
	}
	return d, nil
}

// ParseSize reads a number of bytes, with B, KiB, MiB, GiB or TiB.
func ParseSize(text string) (int64, error) {
	number := strings.TrimRight(text, "BKMGTi")
	units := []string{"", "B", "KiB", "MiB", "GiB", "TiB"}
	for i, name := range units {
		if text[len(number):] == name {
			unit := int64(1) << (10 * max(i-1, 0))
			n, err := strconv.ParseInt(number, 10, 64)
			if err == nil && n >= 0 && n <= (1<<62)/unit {
				return n * unit, nil
			}
		}
	}
	return 0, fmt.Errorf("%q: must be a size such as 4096, 64MiB or 20GiB", text)
}
