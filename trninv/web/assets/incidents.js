import{_ as e,a as t,c as n,d as r,l as i,p as a,r as o,x as s}from"./words.js";import{C as c,T as l,_ as u,f as d,m as f,n as p,p as m,r as h,t as g,v as _,w as v,x as y}from"./index.js";import{C as b,h as x,i as S,n as C,t as w}from"./jsxRuntime.js";import{o as T,r as E,t as D}from"./parts.js";import{n as O,t as k}from"./asked.js";var A=e(`
  query Incidents {
    incidents(first: 200) {
      totalCount
      edges {
        cursor
        node {
          id rule severity place causes causeCount staying since who why source truncated
          parts { kind state count }
          lastChange { at who why }
          standing { server instance host }
          drift { id rule address found }
        }
      }
    }
    events(last: 1, filter: { after: { eq: UP }, takenAlong: { eq: false } }) { nodes { at address who why } }
  }
`),j=a(A,{}),M=({parts:e})=>[`down`,`degraded`,`maintenance`].find(t=>e.some(e=>e.state===t))??`down`,N=e=>e.place??e.causes[0]??``,P=e(`
  query CarryNothing($at: Address!) {
    resolve(address: $at) {
      ... on Chip { links(first: 1, filter: { bandwidth: { eq: { bytesPerSecond: "0" } } }) { totalCount } }
      ... on Switch { links(first: 1, filter: { bandwidth: { eq: { bytesPerSecond: "0" } } }) { totalCount } }
      ... on Nic { links(first: 1, filter: { bandwidth: { eq: { bytesPerSecond: "0" } } }) { totalCount } }
      ... on NetworkNode { links(first: 1, filter: { bandwidth: { eq: { bytesPerSecond: "0" } } }) { totalCount } }
    }
  }
`),F=e(`
  query ServerCarriesNothing($domain: Address!, $within: String!) {
    links(first: 1, filter: {
      domain: { eq: $domain }, address: { contains: $within }, bandwidth: { eq: { bytesPerSecond: "0" } }
    }) { totalCount }
  }
`),I=e(`
  query JobsThere($of: Address!) { jobs(of: $of, first: 4) { totalCount nodes { name system externalId } } }
`),L=4;function R({of:e,costs:t}){let r=e.parts.reduce((e,{count:t})=>e+t,0),i=e.causeCount-Math.min(L,e.causes.length);return w(`ul`,{class:`tree`,children:[e.causes.slice(0,L).map(e=>w(z,{address:e},e)),i>0&&w(`li`,{class:`quiet`,children:[`and `,o(i,`more cause`)]}),r>e.causeCount&&w(`li`,{class:`follows states`,children:w(m,{of:e.parts})}),e.staying>0&&w(`li`,{class:`follows`,children:[o(e.staying,`part`),` not up by themselves: they stay so when the causes are back`]}),t?.domains.map(e=>w(`li`,{class:`follows`,children:[w(f,{state:`up`}),w(`span`,{children:[w(`strong`,{children:o(e.chipsNow,`chip`)}),` still reached`,` `,w(`span`,{class:`quiet`,children:[`of `,n(e.chipsBefore),` of `,w(`a`,{href:S(`domain`,e.domain),children:e.domain})]})]})]},e.domain)),t&&w(V,{of:t}),t?.domains.filter(H).map(e=>w(ee,{domain:e.domain,known:t.jobs},e.domain))]})}function z({address:e}){let t=/\/s\d+$/.test(e),n=e.replace(/\/[^/]+$/,``),r=s(t?a(F,{domain:n,within:`${e}/`}):null),c=s(t||e.includes(`--`)?null:a(P,{at:e})),l=r.data?.links??(c.data&&`links`in c.data.resolve?c.data.resolve.links:void 0);return w(`li`,{children:[w(`a`,{href:S(`at`,e),children:i(e)}),` `,w(`span`,{class:`quiet`,children:`root cause`}),l&&l.totalCount>0&&w(`ul`,{class:`tree`,children:w(`li`,{children:[w(f,{state:`down`}),w(`span`,{children:[w(`strong`,{children:o(l.totalCount,`link`)}),` `,l.totalCount===1?`carries`:`carry`,` `,`nothing`]})]})})]})}var B=({of:{name:e,system:t,externalId:n}})=>w(`a`,{href:S(`jobs`,``,{sel:e}),children:e||`${t}:${n}`});function V({of:{jobCount:e,jobs:t}}){return e?w(`li`,{class:`follows`,children:[w(f,{state:`down`}),w(`span`,{children:[w(`strong`,{children:o(e,`job`)}),` with chips of it`,t.slice(0,L).map(e=>w(`span`,{class:`quiet`,children:[` `,w(B,{of:e}),`: `,n(e.touched),` of its `,o(e.chips,`chip`)]},`${e.system} ${e.externalId}`))]})]}):w(`li`,{class:`follows quiet`,children:`No job holds chips of it`})}var H=({allGatherBefore:e,allGatherNow:t,bisectionBefore:n,bisectionNow:r,isComparable:i})=>t.upper.gigabytesPerSecond<e.lower.gigabytesPerSecond||i&&r.upper.gigabytesPerSecond<n.lower.gigabytesPerSecond;function ee({domain:e,known:t}){let{data:n}=s(a(I,{of:e})),r=({system:e,externalId:n})=>t.some(t=>t.system===e&&t.externalId===n),i=n?.jobs.nodes.filter(e=>!r(e))??[];return i.length?w(`li`,{class:`follows`,children:[w(f,{state:`degraded`}),w(`span`,{children:[w(`strong`,{children:o(i.length,`job`)}),` on other chips of `,e,`, slower between them:`,i.map(e=>w(`span`,{children:[` `,w(B,{of:e})]},`${e.system} ${e.externalId}`))]})]}):null}var U=e(`
  query Impact($after: String) {
    incidents(first: 1, after: $after) {
      nodes {
        id
        impact {
          chips cores jobCount domainCount truncated
          memory { gibibytes }
          jobs { name system externalId chips touched }
          domains {
            domain chipsBefore chipsNow isComparable
            poolBefore { gibibytes }
            poolNow { gibibytes }
            bisectionBefore { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
            bisectionNow { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
            allGatherBefore { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
            allGatherNow { lower { gigabytesPerSecond } upper { gigabytesPerSecond } exact }
          }
        }
      }
    }
  }
`);function W(e,t){let n=s(a(U,{after:t})),i=n.data?.incidents.nodes[0];return!n.data||i?.id===e?{...n,data:i?.impact}:{...n,data:void 0,error:new r(`The list has just changed.`,``)}}function G({of:e}){return w(`div`,{class:`inner`,children:[w(`h3`,{children:`Impact, before → after`}),w(T,{of:e,children:e=>w(Y,{of:e})})]})}var K=({lower:e,upper:t,exact:r})=>`${r?``:`${n(e.gigabytesPerSecond)} to `}${n(t.gigabytesPerSecond)} GB/s`,q=(e,t)=>e&&e!==t?`${t<e?`−`:`+`}${n(Math.abs(100*(t-e)/e))} %`:``;function J({name:e,was:t,is:n,note:r,less:i}){return w(`div`,{children:[w(`dt`,{children:e}),w(`dd`,{children:[w(D,{now:n,before:t}),` `,w(`span`,{class:i?.startsWith(`−`)?`less`:`quiet`,children:r??i})]})]})}function Y({of:e}){return w(b,{children:[w(`p`,{children:e.chips?`${o(e.chips,`chip`)} with ${o(e.cores,`core`)} and ${t(e.memory)} carry nothing.`:`Every chip still carries.`}),e.domains.map(e=>{let[r,i]=[e.poolBefore.gibibytes,e.poolNow.gibibytes],[a,o]=[e.bisectionBefore,e.bisectionNow],[s,c]=[e.allGatherBefore,e.allGatherNow],l=e.isComparable?{}:{note:`not comparable: fewer chips`};return w(`section`,{"aria-label":e.domain,children:[w(`h4`,{children:w(`a`,{href:S(`domain`,e.domain),children:e.domain})}),w(`dl`,{class:`figures`,children:[w(J,{name:`Chips that carry`,was:n(e.chipsBefore),is:n(e.chipsNow),less:q(e.chipsBefore,e.chipsNow)}),w(J,{name:`Still reached, most HBM`,was:t(e.poolBefore),is:t(e.poolNow),less:q(r,i)}),w(J,{name:`Bisection`,was:K(a),is:K(o),less:q(a.upper.gigabytesPerSecond,o.upper.gigabytesPerSecond),...l}),w(J,{name:`All-gather, at most`,was:K(s),is:K(c),less:q(s.upper.gigabytesPerSecond,c.upper.gigabytesPerSecond)})]})]},e.domain)}),e.domainCount>e.domains.length&&w(`p`,{class:`quiet`,children:[`and `,o(e.domainCount-e.domains.length,`more domain`)]})]})}function X({of:e,after:t}){let{asof:n}=x(),r=W(e.id,t),a=k(),o=e.since&&new Date(Date.parse(e.since)-1e3).toISOString();return w(`aside`,{class:`card flush panel`,"aria-label":`Incident ${e.id}`,children:[w(`h2`,{children:[w(f,{state:M(e)}),` `,w(`span`,{class:`name`,children:i(N(e))}),w(`button`,{type:`button`,class:`square`,"aria-label":`Close`,onClick:()=>C({sel:void 0}),children:w(`span`,{"aria-hidden":`true`,children:`×`})})]}),w(`div`,{class:`band ${M(e)}`,children:[w(`strong`,{children:e.why??`No reason is known`}),w(`span`,{children:[e.who,e.since&&`, ${_(e.since)}, ${y(e.since,v(n))} ago`,e.source&&`, by ${e.source}`]})]}),w(`div`,{class:`inner row`,children:[a&&e.causeCount===e.causes.length&&w(`button`,{type:`button`,"data-writes":!0,"aria-haspopup":`dialog`,onClick:()=>O({places:e.causes,state:`up`}),children:`Bring back…`}),e.place&&w(`a`,{class:`button main`,href:S(`at`,e.place),children:`Show it`}),o&&w(`a`,{class:`button`,href:S(`at`,N(e),{asof:o}),children:`Before it`})]}),w(d,{}),w(`div`,{class:`inner`,children:[w(`h3`,{children:`What follows from it`}),w(R,{of:e,costs:r.data}),e.standing.map(({server:e,instance:t,host:n})=>w(`p`,{class:`quiet`,children:[Z(e),` is `,[t,n].filter(Boolean).join(`, `)]},e)),e.drift.map(e=>w(`p`,{children:[`Drift: `,e.rule.replaceAll(`_`,` `),` of `,w(`a`,{href:S(`at`,e.address),children:e.address}),e.found&&`: ${e.found}`]},e.id))]}),w(G,{of:r}),e.lastChange&&e.lastChange.at!==e.since&&w(`p`,{class:`inner quiet`,children:[`Last change `,u(e.lastChange.at),` UTC, `,e.lastChange.who,`: `,e.lastChange.why]})]})}var Z=e=>e.split(`/`).slice(-1)[0];function Q({route:e}){let t=s(j);return w(`article`,{children:[w(`header`,{class:`title`,children:[w(`h1`,{children:`Incidents`}),t.data&&w(`p`,{children:$(t.data)}),w(`div`,{class:`tools`,children:w(E,{asked:[j]})})]}),w(g,{span:e.options.span}),w(T,{of:t,children:t=>w(ne,{data:t,sel:e.options.sel??``})})]})}function $({incidents:{totalCount:e,edges:t}}){let n=new Map;for(let{kind:e,count:r}of t.flatMap(({node:e})=>e.parts))n.set(e,(n.get(e)??0)+r);let r=[...n].map(([e,t])=>o(t,c(e)));return e?`${o(e,`root cause`)} ${e===1?`explains`:`explain`} ${r.join(`, `)} not up`:``}var te={rack:`in one rack within five minutes`,change:`one change`};function ne({data:e,sel:t}){let{edges:r,totalCount:i}=e.incidents,a=r.findIndex(({node:e})=>e.id===t),o=r[a]?.node;return r.length?w(`div`,{class:o?`columns`:void 0,children:[w(`section`,{class:`card flush`,"aria-label":`Open incidents`,children:[w(ae,{nodes:r.map(({node:e})=>e),sel:t}),i>r.length&&w(`p`,{class:`inner quiet`,children:[`The first `,r.length,` of `,n(i),`; `,w(`code`,{children:`trninv incidents`}),` lists all.`]})]}),o&&w(X,{of:o,after:r[a-1]?.cursor??null}),t&&!o&&w(`p`,{class:`card quiet`,children:[`Incident `,t,` is not open at this time: all of it is up.`]})]}):w(re,{data:e})}function re({data:e}){let t=e.events.nodes[0];return w(`section`,{class:`card`,children:[w(`p`,{children:`Nothing is open: every part is up.`}),t&&w(`p`,{class:`quiet`,children:[`Last closed: `,w(`a`,{href:S(`at`,t.address),children:t.address}),`, `,_(t.at),`, `,t.who,`: `,t.why]})]})}var ie=[[`Root cause`],[`Reason`],[`Impact`,`roomy`],[`Who`,`roomy`],[`Open for`,`number`]];function ae({nodes:e,sel:t}){let{asof:n}=x();return w(p,{name:`Incidents`,columns:ie,isPick:!0,children:e.map(e=>w(h,{tells:JSON.stringify([e.parts,e.why]),isChosen:e.id===t,children:[w(`th`,{scope:`row`,children:[w(`a`,{class:`cause`,href:S(`incidents`,``,{sel:e.id===t?void 0:e.id}),"aria-current":e.id===t?`true`:void 0,children:[w(f,{state:M(e)}),w(`span`,{class:`unseen`,children:[M(e),`: `]}),i(N(e))]}),e.causeCount>1&&w(`span`,{class:`quiet`,children:[o(e.causeCount,`cause`),`, `,te[e.rule]]})]}),w(`td`,{children:e.why??w(`span`,{class:`quiet`,children:`no reason is known`})}),w(`td`,{class:`roomy`,children:e.parts.map(({kind:e,state:t,count:n})=>`${o(n,c(e))} ${l(t)}`).join(`, `)}),w(`td`,{class:`roomy`,children:e.who}),w(`td`,{class:`number`,children:e.since?y(e.since,v(n)):`not known`})]},e.id))})}export{Q as Incidents};