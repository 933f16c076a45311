package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

//leat:level 0
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestRun_PrintsTableAndTraces(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.Empty(t, run(t.Context(), &out, options{part: "watermark inbox: acks", trace: true}))
	require.Contains(t, out.String(), "caught: I3")
	require.Contains(t, out.String(), "   1 session 1 is assigned the partition, from offset 0\n")
	require.Contains(t, out.String(), "0 searches of protocols and 2 of forbidden variants")

	out.Reset()
	require.Empty(t, run(t.Context(), &out, options{part: "watermark inbox: acks", markdown: true}))
	require.Contains(t, out.String(), "| watermark inbox | acks before the commit | ")

	require.Len(t, run(t.Context(), &out, options{part: "watermork"}), 1, "nothing is selected")
}
