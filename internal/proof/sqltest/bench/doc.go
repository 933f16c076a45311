// Package bench measures the stores on database/sql beside what is used instead of them, on
// servers of its own that wait for the disk at each commit. Contenders take turns; the table
// at the end has the ratios: by time, and by the processor time of both ends, which is what
// counts on a machine that has other work.
//
//	go test ./bench -run '^$' -bench . -benchtime 1x -timeout 0 -rounds 9
package bench
