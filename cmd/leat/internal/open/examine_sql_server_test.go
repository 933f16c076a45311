package open

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/leat-go/leat/cmd/leat/internal/doctor"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestDoctor_AdviceBreaksNothingElse: clusters that are written in several places set the increment so
// that their members give out different numbers. It is not advised to set it to 1 there: then nothing
// would keep relays away, and the members would give out the same numbers.
func TestDoctor_AdviceBreaksNothingElse(t *testing.T) {
	t.Parallel()
	alone := variables{"auto_increment_increment": "7", "wsrep_on": "OFF", "group_replication_single_primary_mode": "ON"}
	require.Contains(t, numbers(alone)[0].Advice, "SET GLOBAL auto_increment_increment = 1")
	require.Empty(t, cluster(alone))
	for setting, value := range map[string]string{"wsrep_on": "ON", "group_replication_single_primary_mode": "OFF"} {
		member := variables{"auto_increment_increment": "7", setting: value}
		found := cluster(member)
		require.Len(t, found, 1, setting)
		require.Equal(t, doctor.Fail, found[0].Verdict)
		require.Contains(t, found[0].Text, setting+" is "+value+", must be")
		require.NotEmpty(t, found[0].Advice)
		require.Equal(t, doctor.Fail, numbers(member)[0].Verdict)
		require.NotContains(t, numbers(member)[0].Advice, "SET GLOBAL")
	}
	require.Empty(t, numbers(variables{"auto_increment_increment": "1"}))
}
