// Figures for the adapter's page: weft against ODE's own threads.
#include "adapters/ode/ode_threading.h"

#include "adapters/figures.h"
#include "adapters/ode_scene.h"
#include "support/scheduler_run.h"

#include <ode/ode.h>
#include <catch2/catch.hpp>

using namespace weft;
using namespace test::ode;

TEST_CASE("ODE figures: weft against ODE's own threads", "[.figures]") {
    test::Runner run(test::Options(test::kFigureWorkers));
    REQUIRE(run.scheduler.Start() == Status::Ok);
    {
        Init();
        OdeThreading threading(run.scheduler);
        OwnThreads threads;
        test::Figures figures("steps a second", "ODE's threads");
        const auto add = [&](const char *name, int heaps, int balls) {
            const auto steps = [](Scene &scene) {
                return test::PerSecond(kSteps, [&] { CHECK(scene.Steps(kSteps)); });
            };
            const auto onWeft = [&run, &threading, heaps, balls, steps] {
                double perSecond = 0;
                test::InTask(run.scheduler, [&] {
                    Scene scene(heaps, balls);
                    dWorldSetStepThreadingImplementation(scene.World(), threading.Functions(),
                                                         threading.Id());
                    perSecond = steps(scene);
                });
                return perSecond;
            };
            const auto onThreads = [&threads, heaps, balls, steps] {
                Scene scene(heaps, balls);
                threads.Serve(scene);
                return steps(scene);
            };
            figures.Add(name, onWeft, onThreads);
        };
        add("96 balls, one an island", 96, 1);
        add("12 heaps of 8 balls", 12, 8);
        add("4 heaps of 24 balls", 4, 24);
        CHECK(figures.Measure());
    }
    run.scheduler.Stop();
}
