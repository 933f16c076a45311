package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzParseNeeds: a list of services is read, or refused by name.
func FuzzParseNeeds(f *testing.F) {
	for _, services := range []string{"", "postgres", "postgres,kafka,redis", "kafka,", "Postgres", "redis,redis"} {
		f.Add(services)
	}
	f.Fuzz(func(t *testing.T, services string) {
		needs, err := parseNeeds(services)
		listed := strings.Split(services, ",")
		known := 0
		for _, name := range listed {
			if name == "postgres" || name == "kafka" || name == "redis" {
				known++
			}
		}
		require.Equal(t, known == len(listed), err == nil)
		if err != nil {
			require.ErrorContains(t, err, "-services")
			return
		}
		require.True(t, needs.Postgres || needs.Kafka || needs.Redis)
	})
}
