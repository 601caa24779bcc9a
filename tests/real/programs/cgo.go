// Many goroutines that allocate through C, and free what others allocated.
package main

/*
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct node {
	struct node *next;
	size_t size;
	unsigned char bytes[];
};

static struct node *push(struct node *head, size_t size, unsigned char fill) {
	struct node *node = malloc(sizeof *node + size);
	if (!node) abort();
	node->next = head;
	node->size = size;
	memset(node->bytes, fill, size);
	return node;
}

static uint64_t drop(struct node *head) {
	uint64_t sum = 0;
	while (head) {
		struct node *next = head->next;
		for (size_t i = 0; i < head->size; i++) sum = sum * 31 + head->bytes[i];
		free(head);
		head = next;
	}
	return sum;
}

static void *grow(void *block, size_t size) {
	void *grown = realloc(block, size);
	if (!grown) abort();
	return grown;
}
*/
import "C"

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"unsafe"
)

// A list made by one goroutine, to be freed by another.
type parcel struct {
	number int
	head   *C.struct_node
}

func produce(worker, rounds int, out chan<- parcel) {
	state := uint32(worker*7919 + 1)
	for round := 0; round < rounds; round++ {
		var head *C.struct_node
		for i := 0; i < 40; i++ {
			state = state*1664525 + 1013904223
			size := (state >> 8) % 600
			if i == 0 {
				size = (state >> 8) % 40000
			}
			head = C.push(head, C.size_t(size), C.uchar(state>>24))
		}
		out <- parcel{worker*rounds + round, head}
	}
}

func growing(worker int) uint64 {
	var block unsafe.Pointer
	var sum uint64
	for size := 1; size < 200000; size += size/3 + 1 {
		block = C.grow(block, C.size_t(size))
		bytes := unsafe.Slice((*byte)(block), size)
		for i := size * 2 / 3; i < size; i++ {
			bytes[i] = byte(i * worker)
		}
		sum = sum*31 + uint64(bytes[size/2])
	}
	text := C.CString(fmt.Sprint("worker ", worker, " ", sum))
	sum += uint64(len(C.GoString(text)))
	C.free(unsafe.Pointer(text))
	C.free(block)
	return sum
}

func main() {
	workers := 32
	rounds, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	runtime.GOMAXPROCS(8)
	parcels := make(chan parcel, 64)
	sums := make([]uint64, workers*rounds)
	grown := make([]uint64, workers)
	var producers, consumers sync.WaitGroup
	for worker := 0; worker < workers; worker++ {
		producers.Add(1)
		consumers.Add(1)
		go func(worker int) {
			defer producers.Done()
			produce(worker, rounds, parcels)
			// A locked goroutine's thread ends with it.
			runtime.LockOSThread()
			grown[worker] = growing(worker)
		}(worker)
		go func() {
			defer consumers.Done()
			for parcel := range parcels {
				sums[parcel.number] = uint64(C.drop(parcel.head))
			}
		}()
	}
	producers.Wait()
	close(parcels)
	consumers.Wait()
	var total uint64
	for _, sum := range sums {
		total = total*31 + sum
	}
	fmt.Println("lists", total)
	fmt.Println("grown", grown)
}
