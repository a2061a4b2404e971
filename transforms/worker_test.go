package transforms

import (
	"fmt"
	"sync"
	"testing"
)

// Jobs that begin at the same time keep their workers: the driver and the DoFns of a job have the same one.
func TestConcurrentJobsKeepTheirWorkers(t *testing.T) {
	for i := range 5000 {
		var wait sync.WaitGroup
		begin := make(chan struct{})
		for j := range 16 {
			wait.Go(func() {
				<-begin
				dir := fmt.Sprintf("/worker-test/%d-%d", i, j)
				driver := NewWorker(dir)
				f := Fn{Scan: Scan{Pass: dir + "/pass"}}
				f.Setup()
				if f.Worker != driver {
					t.Errorf("%s: the DoFn has another worker than the driver", dir)
				}
				f.Teardown()
				driver.Close()
			})
		}
		close(begin)
		wait.Wait()
	}
}
