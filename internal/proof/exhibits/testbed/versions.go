package testbed

import (
	"runtime/debug"
	"slices"
	"strings"
)

// Versions returns the versions of the relevant modules in this program, one a line.
func Versions() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	var b strings.Builder
	for _, m := range info.Deps {
		if slices.Contains([]string{
			"github.com/ThreeDotsLabs/watermill",
			"github.com/ThreeDotsLabs/watermill-sql/v4",
			"github.com/ThreeDotsLabs/watermill-kafka/v3",
			"github.com/IBM/sarama",
		}, m.Path) {
			b.WriteString("  " + m.Path + " " + m.Version + "\n")
		}
	}
	return b.String()
}
