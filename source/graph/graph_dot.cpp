// A graph in the language of Graphviz.
#include "graph/graph_state.h"

#include <cstdio>
#include <cstring>

namespace weft {

using namespace internal;

namespace {

// Names of nodes in the text: n, and for each level the number of the node, such as n2_0.
struct Place {
    const Place *outer;
    uint32_t node;
};

// Returns how many bytes the character at the beginning of a text has, or 0 if it is not valid
// UTF-8. The byte 0 ends the text.
size_t LengthOfCharacter(const char *text) noexcept {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
    if (byte(0) < 0x80) return 1;
    if (byte(0) < 0xc2 || byte(0) > 0xf4) return 0;
    const size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
    uint32_t code = byte(0) & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return 0;
        code = code << 6 | (byte(i) & 0x3fu);
    }
    constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    const bool isGood = code >= kLeast[length] && code <= 0x10ffff && (code >> 11) != 0xd800 >> 11;
    return isGood ? length : 0;
}

class DotWriter {
public:
    DotWriter(Graph::Write write, void *user) noexcept : m_write(write), m_user(user) {}

    void Text(const char *text) const noexcept { m_write(m_user, text, std::strlen(text)); }
    void Number(uint32_t number) const noexcept {
        char text[16];
        std::snprintf(text, sizeof text, "%u", number);
        Text(text);
    }
    void Indent(uint32_t depth) const noexcept {
        for (uint32_t i = 0; i < depth; ++i) Text("  ");
    }
    // What the language would read as its own gets a backslash. A byte that is not valid UTF-8 is
    // shown as an escape, such as \xff.
    void Quoted(const char *text) const noexcept {
        while (*text != 0) {
            if (*text == '"' || *text == '\\') Text("\\");
            const size_t length = LengthOfCharacter(text);
            if (length != 0)
                m_write(m_user, text, length);
            else
                Escaped(static_cast<unsigned char>(*text));
            text += length != 0 ? length : 1;
        }
    }
    void Id(const Place *outer, uint32_t node) const noexcept {
        Prefix(outer);
        Number(node);
    }

private:
    void Escaped(unsigned byte) const noexcept {
        char text[16];
        std::snprintf(text, sizeof text, "\\\\x%02x", byte);
        Text(text);
    }
    void Prefix(const Place *place) const noexcept {
        if (place == nullptr) return Text("n");
        Id(place->outer, place->node);
        Text("_");
    }

    const Graph::Write m_write;
    void *const m_user;
};

void WriteNodes(const DotWriter &out, const GraphState &graph, const Place *outer,
                uint32_t depth) noexcept;

void WriteShape(const DotWriter &out, const Place *outer, uint32_t node, const char *name,
                const char *shape, uint32_t depth) noexcept {
    out.Indent(depth);
    out.Id(outer, node);
    out.Text(" [label=\"");
    out.Quoted(name);
    out.Text("\", shape=");
    out.Text(shape);
    out.Text("];\n");
}

void WriteInner(const DotWriter &out, const DeclaredNode &node, const GraphState *inner,
                const Place &place, uint32_t depth) noexcept {
    out.Indent(depth);
    out.Text("subgraph cluster_");
    out.Id(place.outer, place.node);
    out.Text(" {\n");
    out.Indent(depth + 1);
    out.Text("label=\"");
    out.Quoted(node.name);
    out.Text(" (");
    out.Quoted(inner != nullptr ? inner->name : "");
    out.Text(")\";\n");
    // a point in the box, for the edges
    WriteShape(out, place.outer, place.node, node.name, "point", depth + 1);
    if (inner != nullptr) WriteNodes(out, *inner, &place, depth + 1);
    out.Indent(depth);
    out.Text("}\n");
}

void WriteEdge(const DotWriter &out, const GraphState &graph, const DeclaredEdge &edge,
               uint32_t number, const Place *outer, uint32_t depth) noexcept {
    const bool isChoice = graph.nodes[edge.before].kind == NodeKind::Condition;
    const bool toInner = graph.nodes[edge.after].kind == NodeKind::Inner;
    const bool fromInner = graph.nodes[edge.before].kind == NodeKind::Inner;
    const char *separator = " [";
    out.Indent(depth);
    out.Id(outer, edge.before);
    out.Text(" -> ");
    out.Id(outer, edge.after);
    const auto option = [&](const char *text) {
        out.Text(separator);
        out.Text(text);
        separator = ", ";
    };
    if (isChoice) {
        option("label=\"");
        out.Number(number);
        out.Text("\", style=dashed");
    }
    if (fromInner) {
        option("ltail=cluster_");
        out.Id(outer, edge.before);
    }
    if (toInner) {
        option("lhead=cluster_");
        out.Id(outer, edge.after);
    }
    out.Text(isChoice || fromInner || toInner ? "];\n" : ";\n");
}

void WriteNodes(const DotWriter &out, const GraphState &graph, const Place *outer,
                uint32_t depth) noexcept {
    for (uint32_t i = 0; i < graph.nodes.Count(); ++i) {
        const DeclaredNode &node = graph.nodes[i];
        if (node.kind == NodeKind::Inner) {
            WriteInner(out, node, GraphState::Of(*node.inner), Place{outer, i}, depth);
        } else {
            WriteShape(out, outer, i, node.name,
                       node.kind == NodeKind::Condition ? "diamond" : "box", depth);
        }
    }
    for (uint32_t i = 0; i < graph.edges.Count(); ++i) {
        const DeclaredEdge &edge = graph.edges[i];
        uint32_t number = 0;  // among the edges of a condition
        if (graph.nodes[edge.before].kind == NodeKind::Condition) {
            for (uint32_t j = 0; j < i; ++j) number += graph.edges[j].before == edge.before;
        }
        WriteEdge(out, graph, edge, number, outer, depth);
    }
}

}  // namespace

void Graph::WriteDot(Write write, void *user) const noexcept {
    const DotWriter out(write, user);
    out.Text("digraph \"");
    out.Quoted(m_state != nullptr ? m_state->name : "");
    out.Text("\" {\n  compound=true;\n");
    if (m_state != nullptr) WriteNodes(out, *m_state, nullptr, 1);
    out.Text("}\n");
}

}  // namespace weft
