package memory_test

import (
	"testing"

	"assay.kit/reference/core"
	"assay.kit/reference/store/memory"
	"assay.kit/reference/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) core.Store { return memory.New() })
}
