// Reads the description of a frame and draws the durations of its tasks.
#include "frame/description.h"

#include "frame/ideal.h"

#include "bodies.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

namespace frame {

namespace {

constexpr uint32_t kMaxTasks = 100000;
constexpr double kMaxNs = 10e9;

// Reads one line word by word. Keeps the first mistake. What is read after a mistake is not valid.
class Line {
public:
    explicit Line(const std::string &text) {
        std::istringstream words(text.substr(0, text.find('#')));
        for (std::string word; words >> word;) m_words.push_back(word);
    }

    bool IsAtEnd() const { return m_next >= m_words.size(); }
    bool IsNext(const char *word) const { return !IsAtEnd() && m_words[m_next] == word; }
    const Problem &Mistake() const { return m_mistake; }

    void Fail(const std::string &mistake) {
        if (m_mistake.empty()) m_mistake = mistake;
    }

    std::string Word(const char *what) {
        if (!IsAtEnd()) return m_words[m_next++];
        Fail(std::string(what) + " is missing");
        return {};
    }

    void Expect(const char *word) {
        const std::string found = Word(word);
        if (found != word) Fail(std::string("expected ") + word + ", found " + found);
    }

    // Reads a number with one of the units and multiplies it by the factor of the unit.
    double Number(const char *what, const std::vector<std::pair<const char *, double>> &units,
                  double least, double most) {
        const std::string word = Word(what);
        size_t digits = word.find_first_not_of("0123456789.");
        if (digits == std::string::npos) digits = word.size();
        const std::string number = word.substr(0, digits);
        const auto unit = std::find_if(units.begin(), units.end(), [&](const auto &known) {
            return word.substr(digits) == known.first;
        });
        const bool isNumber = std::count(number.begin(), number.end(), '.') <= 1 &&
                              number.size() < 16 &&
                              number.find_first_of("0123456789") != std::string::npos;
        const double value =
            isNumber && unit != units.end() ? std::stod(number) * unit->second : -1;
        if (value >= least && value <= most) return value;
        Fail(word + " is no " + what);
        return least;
    }

    double Time() {
        return Number("time, such as 50us, of at most 10s",
                      {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}, 0, kMaxNs);
    }

    template <class Value>
    Value OneOf(const char *what, const std::vector<std::pair<const char *, Value>> &values) {
        const std::string word = Word(what);
        for (const auto &[name, value] : values) {
            if (word == name) return value;
        }
        Fail(word + " is no " + what);
        return values[0].second;
    }

private:
    std::vector<std::string> m_words;
    size_t m_next = 0;
    Problem m_mistake;
};

Duration ReadDuration(Line &line) {
    using Kind = Duration::Kind;
    Duration duration;
    duration.kind = line.OneOf<Kind>("duration (constant, uniform, normal, lognormal or spiky)",
                                     {{"constant", Kind::Constant},
                                      {"uniform", Kind::Uniform},
                                      {"normal", Kind::Normal},
                                      {"lognormal", Kind::LogNormal},
                                      {"spiky", Kind::Spiky}});
    duration.first = line.Time();
    if (duration.kind == Kind::Spiky)
        duration.part = line.Number("percentage, such as 2%", {{"%", 0.01}}, 0, 1);
    if (duration.kind == Kind::LogNormal) {
        duration.second = line.Number("standard deviation of a logarithm, 0 to 3", {{"", 1}}, 0, 3);
    } else if (duration.kind != Kind::Constant) {
        duration.second = line.Time();
    }
    if (duration.kind == Kind::Uniform && duration.first > duration.second)
        line.Fail("the longer time comes first");
    return duration;
}

bool IsKeyword(const std::string &word) {
    return word == "stage" || word == "tasks" || word == "after" || word == "priority";
}

// Reads the names of earlier stages, up to the next keyword.
std::vector<uint32_t> ReadAfter(Line &line, const std::vector<Stage> &stages) {
    std::vector<uint32_t> after;
    do {
        const std::string name = line.Word("the name of an earlier stage");
        const auto earlier = std::find_if(stages.begin(), stages.end(),
                                          [&](const Stage &stage) { return stage.name == name; });
        if (earlier == stages.end()) line.Fail("no stage " + name + " comes before this one");
        after.push_back(static_cast<uint32_t>(earlier - stages.begin()));
    } while (!line.IsAtEnd() && !line.IsNext("priority") && !line.IsNext("after") &&
             line.Mistake().empty());
    return after;
}

Stage ReadStage(Line &line, const std::vector<Stage> &stages, Duration *duration) {
    Stage stage;
    line.Expect("stage");
    stage.name = line.Word("the stage's name");
    if (IsKeyword(stage.name)) line.Fail(stage.name + " cannot be a stage's name");
    for (const Stage &other : stages) {
        if (other.name == stage.name) line.Fail("there are two stages " + stage.name);
    }
    line.Expect("tasks");
    const double tasks = line.Number("number of tasks, 1 to 100000", {{"", 1}}, 1, kMaxTasks);
    if (tasks != std::floor(tasks)) line.Fail("a number of tasks is a whole one");
    stage.tasks.resize(static_cast<size_t>(tasks));
    stage.nanoseconds.resize(stage.tasks.size());
    *duration = ReadDuration(line);
    while (!line.IsAtEnd() && line.Mistake().empty()) {
        const std::string clause = line.Word("a clause");
        if (clause == "after" && stage.after.empty()) {
            stage.after = ReadAfter(line, stages);
        } else if (clause == "priority") {
            stage.priority = line.OneOf<weft::Priority>("priority (high, normal or low)",
                                                        {{"high", weft::Priority::High},
                                                         {"normal", weft::Priority::Normal},
                                                         {"low", weft::Priority::Low}});
        } else {
            line.Fail("expected after or priority, once each; found " + clause);
        }
    }
    return stage;
}

// Returns a random number above 0, up to 1.
double Uniform(std::mt19937_64 &random) {
    return (static_cast<double>(random() >> 11) + 1) * 0x1p-53;
}

// The Box-Muller transform: a normal distribution with mean 0 and standard deviation 1.
double Normal(std::mt19937_64 &random) {
    const double radius = std::sqrt(-2 * std::log(Uniform(random)));
    return radius * std::cos(6.283185307179586 * Uniform(random));
}

void SpinTask(weft::TaskScheduler *, void *nanoseconds) {
    bench::Spin(*static_cast<double *>(nanoseconds));
}

void DrawAll(Frame &frame, const std::vector<Duration> &durations, uint64_t seed, uint32_t number) {
    std::mt19937_64 random((seed << 32) + number);
    for (size_t i = 0; i < durations.size(); ++i) {
        Stage &stage = frame.stages[i];
        for (size_t task = 0; task < stage.tasks.size(); ++task) {
            stage.nanoseconds[task] = durations[i].Draw(random);
            stage.tasks[task] = {SpinTask, &stage.nanoseconds[task]};
        }
    }
}

}  // namespace

double Duration::Draw(std::mt19937_64 &random) const {
    switch (kind) {
        case Kind::Constant:
            return first;
        case Kind::Uniform:
            return first + (second - first) * Uniform(random);
        case Kind::Normal:
            return std::max(first + second * Normal(random), 0.0);
        case Kind::LogNormal:
            return first * std::exp(second * Normal(random));
        case Kind::Spiky:
            return Uniform(random) <= part ? second : first;
    }
    return first;
}

Problem Parse(std::istream &text, uint64_t seed, Frame *frame) {
    std::vector<Duration> durations;
    uint32_t number = 0;
    for (std::string content; std::getline(text, content);) {
        ++number;
        Line line(content);
        if (line.IsAtEnd()) continue;
        Duration duration;
        Stage stage = ReadStage(line, frame->stages, &duration);
        if (!line.Mistake().empty())
            return "line " + std::to_string(number) + ": " + line.Mistake();
        frame->stages.push_back(std::move(stage));
        durations.push_back(duration);
    }
    frame->prepare = [durations, seed](Frame &self, uint32_t frameNumber) {
        DrawAll(self, durations, seed, frameNumber);
    };
    return Check(frame->stages);
}

Problem ReadFile(const std::string &path, uint64_t seed, Frame *frame) {
    std::ifstream file(path);
    if (!file) return path + ": cannot be read";
    const size_t folder = path.find_last_of('/') + 1;  // npos + 1 is 0
    frame->name = path.substr(folder, path.find('.', folder) - folder);
    const Problem problem = Parse(file, seed, frame);
    return problem.empty() ? problem : path + ": " + problem;
}

}  // namespace frame
