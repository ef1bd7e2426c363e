// A batch of tasks with one function, for systems to which tasks are submitted one by one.
#pragma once

#include "bodies.h"

#include <vector>

namespace bench {

using PlainFunction = void (*)(void *context, void *arg);

struct ArgumentBatch {
    ArgumentBatch(PlainFunction body, Cells &cells) : function(body) {
        for (uint32_t i = 0; i < cells.Count(); ++i) args.push_back(cells.At(i));
    }
    template <class Item>
    ArgumentBatch(PlainFunction body, std::vector<Item> &items) : function(body) {
        for (Item &item : items) args.push_back(&item);
    }

    PlainFunction function;
    std::vector<void *> args;
};

/// The members that these systems have in common.
struct PlainSystem {
    using Context = void *;
    using Function = PlainFunction;
    using Batch = ArgumentBatch;
    static Context Current() { return nullptr; }
};

}  // namespace bench
