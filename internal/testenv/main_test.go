package testenv_test

import (
	"testing"

	"github.com/leat-go/leat/internal/testenv"
	"github.com/leat-go/leat/internal/testenv/fakeredis"
)

//leat:level 1
func TestMain(m *testing.M) {
	testenv.PlayRedis(fakeredis.Start)
	testenv.Main(m)
}
