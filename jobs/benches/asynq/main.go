// Measures asynq once: `asynq ITEMS`, on the server that BENCH_URL names. Prints its rates as JSON.
//
// It adds ITEMS tasks of 100 bytes, and then processes them with a handler that does nothing.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"
)

const atOnce = 100

func main() {
	items, err := strconv.ParseInt(os.Args[1], 10, 64)
	if err != nil {
		log.Fatal(err)
	}
	server, err := asynq.ParseRedisURI(strings.TrimSuffix(os.Getenv("BENCH_URL"), "/"))
	if err != nil {
		log.Fatal(err)
	}
	rates := map[string]float64{"add": add(server, items), "process": process(server, items)}
	said, err := json.Marshal(map[string]any{
		"concurrency": map[string]string{"add": "one at a time", "process": fmt.Sprint(atOnce, " at once")},
		"how":         "one process, results not kept",
		"rates":       rates,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(said))
}

func add(server asynq.RedisConnOpt, items int64) float64 {
	client := asynq.NewClient(server)
	defer client.Close()
	data := []byte(strings.Repeat("x", 100))
	begun := time.Now()
	for range items {
		if _, err := client.Enqueue(asynq.NewTask("noop", data)); err != nil {
			log.Fatal(err)
		}
	}
	return float64(items) / time.Since(begun).Seconds()
}

// Between the first and the last task that a handler gets.
func process(server asynq.RedisConnOpt, items int64) float64 {
	worker := asynq.NewServer(server, asynq.Config{Concurrency: atOnce, LogLevel: asynq.FatalLevel})
	var seen, first, last atomic.Int64
	done := make(chan struct{})
	handle := func(context.Context, *asynq.Task) error {
		now := time.Now().UnixNano()
		first.CompareAndSwap(0, now)
		if seen.Add(1) == items {
			last.Store(now)
			close(done)
		}
		return nil
	}
	if err := worker.Start(asynq.HandlerFunc(handle)); err != nil {
		log.Fatal(err)
	}
	<-done
	worker.Shutdown()
	return float64(items-1) / (float64(last.Load()-first.Load()) / 1e9)
}
