// Places the things of a level, and moves the monsters. Closed doors stop monsters and their sight.
#include "game.h"

#include <cstdlib>
#include <sstream>
#include <utility>

namespace frame_loop {
namespace {

// Types and names of sprites, from the file format. Monsters also have radius, height and speed.
constexpr const char *kMonsters =
    "3004 POSS 20 56 2  9 SPOS 20 56 2     65 CPOS 20 56 2    3001 TROO 20 56 3  3002 SARG 30 56 4 "
    "58 SARG 30 56 4    3005 HEAD 31 56 3  3006 SKUL 16 56 4  3003 BOSS 24 64 3  69 BOS2 24 64 3 "
    "68 BSPI 64 64 4    66 SKEL 20 56 4    67 FATT 48 64 3    64 VILE 20 56 5    71 PAIN 31 56 3 "
    "84 SSWV 20 56 2    7 SPID 128 100 4   16 CYBR 40 110 4";
constexpr const char *kScenery =  // the fifth letter is the frame
    "2001 SHOTA 82 SGN2A 2002 MGUNA 2003 LAUNA 2004 PLASA 2005 CSAWA 2006 BFUGA 2007 CLIPA 2048 "
    "AMMOA "
    "2008 SHELA 2049 SBOXA 2010 ROCKA 2046 BROKA 2047 CELLA 17 CELPA 8 BPAKA 2011 STIMA 2012 MEDIA "
    "2014 BON1A 2015 BON2A 2018 ARM1A 2019 ARM2A 2013 SOULA 83 MEGAA 2022 PINVA 2023 PSTRA 2024 "
    "PINSA "
    "2025 SUITA 2026 PMAPA 2045 PVISA 5 BKEYA 6 YKEYA 13 RKEYA 40 BSKUA 39 YSKUA 38 RSKUA 2035 "
    "BAR1A "
    "2028 COLUA 48 ELECA 30 COL1A 31 COL2A 32 COL3A 33 COL4A 36 COL5A 37 COL6A 34 CANDA 35 CBRAA "
    "41 CEYEA "
    "42 FSKUA 43 TRE1A 47 SMITA 54 TRE2A 44 TBLUA 45 TGRNA 46 TREDA 55 SMBTA 56 SMGTA 57 SMRTA 85 "
    "TLMPA "
    "86 TLP2A 70 FCANA 10 PLAYW 12 PLAYW 15 PLAYN 18 POSSL 19 SPOSL 20 TROOM 21 SARGN 24 POL5A 25 "
    "POL1A "
    "26 POL6A 27 POL4A 28 POL2A 29 POL3A";

constexpr int kHardSkill = 4, kSeveralPlayersOnly = 16;  // bits in the flags of a thing

uint32_t Random(uint32_t *state) { return (*state = *state * 1664525 + 1013904223) >> 8; }

// Returns whether a monster can go there. Walls, steps and other monsters can block it. It may move
// away from another monster that is too near.
bool Fits(const Game &game, const World &now, const Monster &monster, Fixed x, Fixed y,
          Footing *footing) {
    const MonsterKind &kind = game.kinds[monster.kind];
    *footing = FootingAt(game.level, now.ceilings, x, y, kind.radius, kBlocksAll | kBlocksMonsters);
    if (footing->blocked || footing->ceiling - footing->floor < kind.height) return false;
    if (footing->floor - monster.floor > kMaxStep ||
        monster.floor - footing->lowestFloor > kMaxStep)
        return false;
    const Fixed reach = ToFixed(kind.radius + 20);
    return std::none_of(now.monsters.begin(), now.monsters.end(), [&](const Monster &other) {
        const Fixed dx = std::abs(other.x - x), dy = std::abs(other.y - y);
        return dx < reach && dy < reach &&
               dx + dy < std::abs(other.x - monster.x) + std::abs(other.y - monster.y);
    });
}

}  // namespace

void PlaceThings(TextureLoader *textures, Game *game) {
    std::map<int, int> sceneryOf, kindOf;  // by type
    int type = 0;
    std::string sprite;
    for (std::istringstream list(kScenery); list >> type >> sprite;)
        sceneryOf[type] = textures->Sprite(sprite.substr(0, 4), sprite[4]);
    MonsterKind kind{};
    for (std::istringstream list(kMonsters);
         list >> kind.type >> sprite >> kind.radius >> kind.height >> kind.speed;) {
        for (int i = 0; i < 4; ++i)
            kind.sprites[i] = textures->Sprite(sprite, static_cast<char>('A' + i));
        if (std::count(kind.sprites.begin(), kind.sprites.end(), kNone) != 0) continue;
        kindOf[kind.type] = static_cast<int>(game->kinds.size());
        game->kinds.push_back(kind);
    }
    game->start.ceilings = game->level.ceilings;
    for (const Thing &thing : game->level.things) {
        if ((thing.flags & kSeveralPlayersOnly) != 0 || (thing.flags & kHardSkill) == 0) continue;
        const Fixed x = ToFixed(thing.x), y = ToFixed(thing.y);
        const int subsector = game->level.SubsectorAt(x, y),
                  floor = game->level.SectorOf(subsector).floor;
        const auto scenery = sceneryOf.find(thing.type), monster = kindOf.find(thing.type);
        if (scenery != sceneryOf.end() && scenery->second != kNone)
            game->scenery.push_back({x, y, subsector, scenery->second});
        if (monster == kindOf.end()) continue;
        const uint32_t seed = static_cast<uint32_t>(game->start.monsters.size()) * 2654435761u + 1;
        game->start.monsters.push_back({x, y, AngleOfDegrees(thing.angle), seed, monster->second,
                                        floor, subsector, 0, 0, 0, 0});
    }
}

void Think(const Game &game, const Viewpoint &viewer, const World &now, World *next, size_t first,
           size_t last) {
    constexpr int kAlertFrames = 240, kKeepAway = 96;
    constexpr Angle kMaxTurn = kQuarterTurn / 12;
    for (size_t i = first; i < last; ++i) {
        Monster &monster = next->monsters[i] = now.monsters[i];
        const MonsterKind &kind = game.kinds[monster.kind];
        const Fixed eye = ToFixed(monster.floor + kind.height * 3 / 4), dx = viewer.x - monster.x,
                    dy = viewer.y - monster.y;
        const bool sees = CanSee(game.level, now.ceilings, monster.x, monster.y, eye, viewer.x,
                                 viewer.y, viewer.z - ToFixed(41), viewer.z + ToFixed(15));
        const uint32_t chance = Random(&monster.random);
        Fixed speed = ToFixed(kind.speed);
        monster.alert = sees ? kAlertFrames : std::max(monster.alert - 1, 0);
        if (sees) {
            // more than half a circle: turns the other way round
            const Angle turn = AngleOf(dx, dy) - monster.angle;
            monster.angle +=
                turn < 2 * kQuarterTurn ? std::min(turn, kMaxTurn) : std::max(turn, 0 - kMaxTurn);
            if (Distance(dx, dy) < ToFixed(kKeepAway + kind.radius)) speed = 0;
        } else {
            if (chance % 64 == 0) monster.angle += (chance >> 6) % 8 * (kQuarterTurn / 2);
            if (monster.alert == 0) speed /= 2;
        }
        monster.stepX = Multiply(speed, Cosine(monster.angle));
        monster.stepY = Multiply(speed, Sine(monster.angle));
    }
}

// Makes the whole step, or a step along one axis to slide along a wall. If neither is possible, the
// monster turns.
void Move(const Game &game, const World &now, World *next, size_t first, size_t last) {
    for (size_t i = first; i < last; ++i) {
        Monster &monster = next->monsters[i];
        const std::array<std::pair<Fixed, Fixed>, 3> ways{
            {{monster.stepX, monster.stepY}, {monster.stepX, 0}, {0, monster.stepY}}};
        if (ways[0] == ways[1] && ways[0] == ways[2]) continue;  // it does not move
        Footing footing{};
        const auto way = std::find_if(ways.begin(), ways.end(), [&](const auto &step) {
            return step != std::pair<Fixed, Fixed>() &&
                   Fits(game, now, now.monsters[i], monster.x + step.first, monster.y + step.second,
                        &footing);
        });
        if (way == ways.end()) {
            monster.angle += kQuarterTurn / 2 + Random(&monster.random) % (3 * kQuarterTurn);
            continue;
        }
        monster.x += way->first;
        monster.y += way->second;
        monster.floor = footing.floor;
        monster.subsector = game.level.SubsectorAt(monster.x, monster.y);
        ++monster.walked;
    }
}

}  // namespace frame_loop
