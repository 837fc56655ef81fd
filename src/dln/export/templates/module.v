// «form.title() | comment»
// «facts»
//
// The output is the prediction in steps of 1e« -form.decimals»«", %d clock cycles after its inputs" % latency if latency».
«% for port in ports %»
«% set label = port.column.name | json | comment %»
«% if port.scaled %»
// «port.name»: the column «label» in steps of 1e« -port.scaled.decimals», rounded up, kept within ±«port.scaled.largest».
«% else %»
// «port.name»: the code of the column «label»: «% for category in port.column.categories %»«", " if loop.index0»«loop.index0» «category | category | comment»«% endfor %»; any other: unknown.
«% endif %»
«% endfor %»
module «name» (
«% if latency %»
  input wire clk,
«% endif %»
«% for port in ports %»
«% if port.value %»
  input wire «port.declaration»«port.value»,
«% endif %»
  input wire «port.missing»,
«% endfor %»
  output wire «signals.total.declaration»steps
);
«% for name, signal in signals.items() %»
«% if signal.words %»
  // «signal.words | comment»
«% endif %»
«% if signal.text %»
  wire «signal.declaration»«name» = «signal.text»;
«% endif %»
«% for delay in range(1, signal.delay + 1) %»
  reg «signal.declaration»«name»_d«delay»;
  always @(posedge clk) «name»_d«delay» <= «name»«"_d%d" % (delay - 1) if delay > 1»;
«% endfor %»
«% endfor %»
  assign steps = «result»;
endmodule
