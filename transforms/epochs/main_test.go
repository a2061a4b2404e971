package epochs

import (
	"testing"

	"github.com/bochner-ml/bochner/internal/prismtest"
)

func TestMain(m *testing.M) { prismtest.Main(m) }
