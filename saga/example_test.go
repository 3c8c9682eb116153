package saga_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/outlast-go/outlast/kernel"
	"github.com/outlast-go/outlast/saga"
	"github.com/outlast-go/outlast/store/memory"
)

type Trip struct{ Town string }

func bookHotel(_ context.Context, t Trip) (string, error) { return "hotel in " + t.Town, nil }

func cancelHotel(_ context.Context, room string) error {
	fmt.Println("cancelled:", room)
	return nil
}

func bookFlight(_ context.Context, t Trip) (string, error) {
	if t.Town == "Atlantis" {
		return "", saga.Permanent(errors.New("nobody flies there"))
	}
	return "flight to " + t.Town, nil
}

func ticket(_ context.Context, hotel, flight string) (string, error) {
	return hotel + ", " + flight, nil
}

// BookTrip is defined once, where all processes that serve or start it see it.
var BookTrip = saga.Define("book-trip", func(b *saga.Builder[Trip]) *saga.Node[string] {
	hotel := saga.Step1(b, "hotel", bookHotel, b.In()).Undo(cancelHotel)
	flight := saga.Step1(b, "flight", bookFlight, b.In()).After(hotel).Async("flights")
	return saga.Step2(b, "ticket", ticket, hotel, flight).Pure()
})

func ExampleDefine() {
	k, err := kernel.New(memory.New(memory.Config{}), kernel.Config{
		Slots: map[string]int{"default": 10, "flights": 10}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer k.Close()
	BookTrip.Serve(k) // this process runs it
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = k.Run(ctx) })

	for _, town := range []string{"Rome", "Atlantis"} {
		h, err := BookTrip.Run(ctx, k, Trip{town}, saga.Options{}) // the hotel is booked here, the flight by a worker
		if err != nil {
			fmt.Println(err)
			continue
		}
		trip, err := h.Wait(ctx)
		var failed *saga.Error
		if errors.As(err, &failed) {
			fmt.Println(failed.State, "at", failed.Step+":", failed.Message)
			continue
		}
		fmt.Println(trip, err)
	}
	stop()
	running.Wait()
	// Output:
	// hotel in Rome, flight to Rome <nil>
	// cancelled: hotel in Atlantis
	// failed at flight: nobody flies there
}
