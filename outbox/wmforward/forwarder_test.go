package wmforward_test

import (
	"fmt"
	"testing"

	"github.com/leat-go/leat/internal/testenv"
)

// besideForwarders are tests in which a forwarder of Watermill's runs, each on a
// database of its own.
func besideForwarders() map[string]func(t *testing.T, db *testenv.Database) {
	all := map[string]func(t *testing.T, db *testenv.Database){
		"O2_O10_TakesOverWhereTheForwarderStands": takesOverWhereTheForwarderStands,
		"O10_ShadowLeavesTheForwarderAlone":       shadowLeavesTheForwarderAlone,
		"O10_TakesOverFromARunningForwarder":      takesOverFromARunningForwarder,
		"O10_WaitsForTheForwardersBatch":          waitsForTheForwardersBatch,
		"O10_PutsAForwarderAwayAgain":             putsAForwarderAwayAgain,
		"O2_HandBackOfAQuietTable":                handBackOfAQuietTable,
		"O2_HandBackToTheNewestTransactionLoses":  handBackToTheNewestTransactionLoses,
		"O5_TheForwarderInvertsAKey":              theForwarderInvertsAKey,
		"O11_TheForwarderStalls":                  theForwarderStalls,
	}
	for seed := range uint64(6) {
		all[fmt.Sprintf("O2_HandBackInTheMiddle, seed %d", seed)] = handBackInTheMiddle(seed)
	}
	return all
}

// TestForwarder runs them on a server that no other tests use: a forwarder stalls
// while any transaction of its cluster is under way.
func TestForwarder(t *testing.T) {
	t.Parallel()
	server := testenv.PrivatePostgres(t, testenv.PostgresOptions{Settings: map[string]string{"fsync": "off"}})
	for name, test := range besideForwarders() {
		db := server.Database(t, initialized())
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, db)
		})
	}
}
